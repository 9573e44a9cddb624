/* Writes of entities as command lines have them: alone, and as lines of a batch. */
#ifndef TOOL_ENTITY_H
#define TOOL_ENTITY_H
#include "../output/output.h"

/* The entity that the arguments of insert, put, merge or delete describe: table, keys, properties.
 * Free it, also after an error. */
tool_exit tool_entity_of(const tool_run *run, tavola_entity **ret_entity);
/* Which write the verb and its flags are; if_match is of no use to some of them. */
tool_exit tool_write_of(const tool_run *run, tavola_write *ret_write, const char **ret_if_match);
/* Its keys and its new etag; NULL: none is known. */
void tool_print_written(tool_output *output, const tavola_entity *entity, const char *etag);

#endif
