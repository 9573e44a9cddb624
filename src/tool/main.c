/* tavola, the command line tool. */
#include "tool.h"

int main(int argc, char **argv)
{
    return tool_run_command(argc, argv, NULL);
}
