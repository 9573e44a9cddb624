/*
 * azurite, a drop-in for the emulator of that name: it takes Azurite's command line, says once what
 * of it means nothing here, and becomes a tavolad that prints Azurite's lines.
 *
 * Called azurite-blob, azurite-queue or azurite-table it is that service alone.  tavolad has always
 * three; the other two then listen on free ports of this machine, and nobody is told of them.
 *
 * The data is in LOCATION/tavola, beside any files of Azurite's own, which nobody touches.
 */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Azurite's own way to fail; with a flag that it does not know it lists those it does and ends
 * well. */
enum { EXIT_FAILED = 1, EXIT_UNKNOWN_FLAG = 0 };

enum { ARGS_MAX = 64 };

/* The version of Azurite whose command line this is. */
#define AZURITE_VERSION "3.35.0"

typedef enum flag_kind { VALUE, SWITCH, IGNORED_VALUE, IGNORED_SWITCH } flag_kind;

typedef enum flag_id {
    BLOB_HOST,
    BLOB_KEEP_ALIVE,
    BLOB_PORT,
    CERT,
    DEBUG_FILE,
    DISABLE_PRODUCT_STYLE_URL,
    DISABLE_TELEMETRY,
    EXTENT_MEMORY_LIMIT,
    HELP,
    IN_MEMORY,
    KEY,
    LOCATION,
    LOOSE,
    OAUTH,
    PWD,
    QUEUE_HOST,
    QUEUE_KEEP_ALIVE,
    QUEUE_PORT,
    SILENT,
    SKIP_API_VERSION_CHECK,
    TABLE_HOST,
    TABLE_KEEP_ALIVE,
    TABLE_PORT,
    VERSION,
    FLAG_COUNT
} flag_id;

/* An ignored flag is named in a warning: what it asks for is not done. */
static const struct {
    const char *name;
    char letter;
    flag_kind kind;
    const char *argument, *help;
} flags[FLAG_COUNT] = {
    [BLOB_HOST] = {"blobHost", 0, VALUE, "ADDR", "address of the blob service (127.0.0.1)"},
    [BLOB_KEEP_ALIVE] = {"blobKeepAliveTimeout", 0, IGNORED_VALUE, "N", "has no effect here"},
    [BLOB_PORT] = {"blobPort", 0, VALUE, "N", "port of the blob service, 0 for a free one (10000)"},
    [CERT] = {"cert", 0, VALUE, "FILE", "certificate, PEM or PKCS#12 (.pfx): HTTPS alone"},
    [DEBUG_FILE] = {"debug", 'd', VALUE, "FILE", "log all there"},
    [DISABLE_PRODUCT_STYLE_URL] = {"disableProductStyleUrl", 0, SWITCH, "",
                                   "the account is in the path, never in the host's name"},
    [DISABLE_TELEMETRY] = {"disableTelemetry", 0, SWITCH, "", "always so: there is none"},
    [EXTENT_MEMORY_LIMIT] = {"extentMemoryLimit", 0, IGNORED_VALUE, "MB", "has no effect here"},
    [HELP] = {"help", 'h', SWITCH, "", "this text"},
    [IN_MEMORY] = {"inMemoryPersistence", 0, SWITCH, "", "keep nothing"},
    [KEY] = {"key", 0, VALUE, "FILE", "key of a PEM certificate"},
    [LOCATION] = {"location", 'l', VALUE, "DIR", "data is in DIR/tavola (the current folder)"},
    [LOOSE] = {"loose", 'L', IGNORED_SWITCH, "", "has no effect here"},
    [OAUTH] = {"oauth", 0, VALUE, "basic", "bearer tokens: has no effect here"},
    [PWD] = {"pwd", 0, VALUE, "TEXT", "password of a PKCS#12 file"},
    [QUEUE_HOST] = {"queueHost", 0, VALUE, "ADDR", "address of the queue service (127.0.0.1)"},
    [QUEUE_KEEP_ALIVE] = {"queueKeepAliveTimeout", 0, IGNORED_VALUE, "N", "has no effect here"},
    [QUEUE_PORT] = {"queuePort", 0, VALUE, "N", "port of the queue service (10001)"},
    [SILENT] = {"silent", 's', SWITCH, "", "do not log requests"},
    [SKIP_API_VERSION_CHECK] = {"skipApiVersionCheck", 0, SWITCH, "",
                                "always so: all versions are taken"},
    [TABLE_HOST] = {"tableHost", 0, VALUE, "ADDR", "address of the table service (127.0.0.1)"},
    [TABLE_KEEP_ALIVE] = {"tableKeepAliveTimeout", 0, IGNORED_VALUE, "N", "has no effect here"},
    [TABLE_PORT] = {"tablePort", 0, VALUE, "N", "port of the table service (10002)"},
    [VERSION] = {"version", 'v', SWITCH, "", "the version"},
};

/* What was given: NULL, or the value; of a switch "". */
static const char *given[FLAG_COUNT];

static const char *program = "azurite";

/* The one service of "azurite-table", or "". */
static const char *only = "";

__attribute__((noreturn, format(printf, 1, 2))) static void fail(const char *format, ...)
{
    va_list args;

    fputs("Exit due to unhandled error: ", stderr);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    exit(EXIT_FAILED);
}

static void print_help(void)
{
    printf("  Usage: %s [options]\n\n"
           "  Azurite's command line for Tavola.  AZURITE_ACCOUNTS=name:key1[:key2];... has the\n"
           "  accounts; without it there is devstoreaccount1, for everybody who can connect.\n\n"
           "  Options:\n",
           program);
    for (int i = 0; i < FLAG_COUNT; i++) {
        char left[48];

        snprintf(left, sizeof left, "%c%c%s--%s %s", flags[i].letter ? '-' : ' ',
                 flags[i].letter ? flags[i].letter : ' ', flags[i].letter ? ", " : "  ",
                 flags[i].name, flags[i].argument);
        printf("  %-32s %s\n", left, flags[i].help);
    }
    printf("\n  Whatever tavolad has beyond these are environment variables: tavolad --help.\n");
}

/* --- the command line --- */

/* "blob-port" and "blobPort" are one. */
static bool is_name(const char *text, size_t len, const char *name)
{
    for (size_t i = 0; i < len; i++) {
        bool is_new_word = text[i] == '-' && i + 1 < len;
        char c = is_new_word ? text[++i] : text[i];

        if (is_new_word && c >= 'a' && c <= 'z')
            c = (char)(c - 32);
        if (*name++ != c)
            return false;
    }
    return *name == '\0';
}

static int find_flag(const char *text, size_t len)
{
    for (int i = 0; i < FLAG_COUNT; i++) {
        if (is_name(text, len, flags[i].name))
            return i;
    }
    return -1;
}

static int find_letter(char letter)
{
    for (int i = 0; i < FLAG_COUNT; i++) {
        if (flags[i].letter == letter && letter)
            return i;
    }
    return -1;
}

__attribute__((noreturn)) static void refuse_unknown(const char *text)
{
    printf("The option \"%s\" is unknown. Here's a list of all available options:\n\n", text);
    print_help();
    exit(EXIT_UNKNOWN_FLAG);
}

static bool is_switch(int id)
{
    return flags[id].kind == SWITCH || flags[id].kind == IGNORED_SWITCH;
}

static void read_arguments(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *text = argv[i];
        bool is_long = text[0] == '-' && text[1] == '-';
        size_t len = is_long ? strcspn(text + 2, "=") : 0;
        const char *value = is_long && text[2 + len] ? text + 3 + len : NULL;
        int id;

        if (is_long) {
            id = find_flag(text + 2, len);
            if (id < 0)
                refuse_unknown(text + 2);
        } else if (text[0] == '-' && text[1]) {
            /* Several letters may stand together: all but the last are switches. */
            while (text[2] && (id = find_letter(text[1])) >= 0 && is_switch(id)) {
                given[id] = "";
                text++;
            }
            id = find_letter(text[1]);
            if (id < 0)
                refuse_unknown(text + 1);
            value = text[2] ? text + 2 + (text[2] == '=') : NULL;
        } else {
            id = find_flag(text, strlen(text));
            if (id != HELP && id != VERSION)
                continue; /* Azurite takes no words */
        }
        if (is_switch(id))
            value = "";
        else if (value == NULL && i + 1 < argc && argv[i + 1][0] != '-')
            value = argv[++i];
        if (value == NULL && id == DEBUG_FILE)
            fail("Must provide a debug log file path for parameter -d or --debug");
        if (value == NULL || (*value == '\0' && !is_switch(id) && id != PWD))
            fail("Must provide a value for parameter --%s", flags[id].name);
        given[id] = value;
    }
}

static void check_arguments(void)
{
    if (given[IN_MEMORY] && given[LOCATION])
        fail(
            "The --inMemoryPersistence option is not supported when the --location option is set.");
    if (given[EXTENT_MEMORY_LIMIT] && !given[IN_MEMORY])
        fail("The --extentMemoryLimit option is only supported when the --inMemoryPersistence "
             "option "
             "is set.");
    if (given[OAUTH] && strcmp(given[OAUTH], "basic") != 0)
        fail("Must provide a valid value for parameter --oauth, only 'basic' is supported.");
    if (given[CERT] && !given[KEY] && !given[PWD])
        fail("--cert needs --key for a PEM certificate, or --pwd for a PKCS#12 file (.pfx)");
    if (given[KEY] && !given[CERT])
        fail("--key needs --cert");
}

static void warn(void)
{
    const char *comma = "";
    bool is_any = false;

    for (int i = 0; i < FLAG_COUNT; i++) {
        if (!given[i] || (flags[i].kind != IGNORED_VALUE && flags[i].kind != IGNORED_SWITCH))
            continue;
        fprintf(stderr, "%s--%s", is_any ? comma : "azurite: no effect here: ", flags[i].name);
        is_any = true;
        comma = ", ";
    }
    if (is_any)
        fputc('\n', stderr);
    if (given[OAUTH])
        fputs("azurite: --oauth basic: bearer tokens are not taken yet; keys and SAS are\n",
              stderr);
}

/* --- what tavolad is told --- */

static char *args[ARGS_MAX + 1];
static int arg_count;

static void add(const char *flag, const char *value)
{
    char *text;

    if (arg_count == ARGS_MAX || asprintf(&text, value ? "--%s=%s" : "--%s", flag, value) < 0)
        fail("too many flags");
    args[arg_count++] = text;
}

/* tavolad takes addresses; Azurite looks names up. */
static void add_host(const char *flag, const char *host)
{
    static const struct addrinfo wanted = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    struct addrinfo *found = NULL;
    char address[INET6_ADDRSTRLEN];

    if (strcmp(host, "localhost") == 0) {
        add(flag, host);
        return;
    }

    int problem = getaddrinfo(host, NULL, &wanted, &found);

    if (problem)
        fail("getaddrinfo ENOTFOUND %s (%s)", host, gai_strerror(problem));
    if (getnameinfo(found->ai_addr, found->ai_addrlen, address, sizeof address, NULL, 0,
                    NI_NUMERICHOST))
        fail("getaddrinfo ENOTFOUND %s", host);
    freeaddrinfo(found);
    add(flag, address);
}

static void add_service(const char *service, flag_id host, flag_id port)
{
    char flag[32];

    snprintf(flag, sizeof flag, "%s-host", service);
    if (only[0] && strcmp(service, only) != 0) {
        add(flag, "127.0.0.1");
        snprintf(flag, sizeof flag, "%s-port", service);
        add(flag, "0");
        return;
    }
    if (given[host])
        add_host(flag, given[host]);
    snprintf(flag, sizeof flag, "%s-port", service);
    if (given[port])
        add(flag, given[port]);
}

/* Azurite makes the folder, too; ours is beside its files. */
static void add_data(void)
{
    const char *location = given[LOCATION] ? given[LOCATION] : ".";
    static const char *const theirs[] = {"__azurite_db_blob__.json", "__azurite_db_queue__.json",
                                         "__azurite_db_table__.json"};
    char path[4096];
    struct stat info;

    if (given[IN_MEMORY]) {
        add("engine", "memory");
        return;
    }
    for (size_t i = 1; i <= strlen(location); i++) {
        snprintf(path, sizeof path, "%.*s", (int)i, location);
        if ((location[i] == '/' || location[i] == '\0') && mkdir(path, 0777) != 0 &&
            errno != EEXIST && location[i] == '\0')
            fail("cannot make the folder %s: %s", path, strerror(errno));
    }
    if (access(location, W_OK | X_OK) != 0)
        fail("user %u cannot write to %s (%s): give the folder to that user, or choose another "
             "with --location",
             (unsigned)geteuid(), location, strerror(errno));
    snprintf(path, sizeof path, "%s/tavola", location);
    for (size_t i = 0; stat(path, &info) != 0 && i < sizeof theirs / sizeof *theirs; i++) {
        char other[4200];

        snprintf(other, sizeof other, "%s/%s", location, theirs[i]);
        if (access(other, F_OK) != 0)
            continue;
        fprintf(stderr, "azurite: %s has data of Azurite; it stays as it is and is not served.\n",
                location);
        break;
    }
    add("data", path);
}

static void add_flags(void)
{
    char banner[32];

    snprintf(banner, sizeof banner, "azurite%s%s", only[0] ? "-" : "", only);
    add("banner", banner);
    add_service("blob", BLOB_HOST, BLOB_PORT);
    add_service("queue", QUEUE_HOST, QUEUE_PORT);
    add_service("table", TABLE_HOST, TABLE_PORT);
    if (!getenv("TAVOLA_ADMIN_PORT"))
        add("any-admin-port", NULL); /* two of Azurite get on with each other */
    add_data();
    add("allow-dev-account", NULL);
    if (!given[SILENT])
        add("access-log", NULL);
    if (given[DEBUG_FILE]) {
        add("log-file", given[DEBUG_FILE]);
        add("log-level", "debug");
    }
    if (given[DISABLE_PRODUCT_STYLE_URL])
        add("path-style", NULL);
    if (given[CERT]) {
        add("cert", given[CERT]);
        add("https-only", NULL);
    }
    if (given[KEY])
        add("key", given[KEY]);
    else if (given[PWD] && setenv("TAVOLA_CERT_PASSWORD", given[PWD], 1) != 0)
        fail("%s", strerror(errno));
}

/* --- tavolad --- */

/* Beside this program, where an installation has it, or on the PATH. */
static void become_tavolad(void)
{
    static const char *const places[] = {"", "../../bin/", "../../sbin/", "../bin/", "../sbin/"};
    char self[4000], path[4096];
    ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);

    if (len > 0) {
        self[len] = '\0';
        strrchr(self, '/')[1] = '\0';
        for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
            snprintf(path, sizeof path, "%s%stavolad", self, places[i]);
            if (access(path, X_OK) == 0)
                execv(path, args);
        }
    }
    execvp("tavolad", args);
    fail("cannot start tavolad: %s", strerror(errno));
}

int main(int argc, char **argv)
{
    static const char *const services[] = {"blob", "queue", "table"};
    const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;
    const char *name = slash ? slash + 1 : argc > 0 ? argv[0] : "azurite";

    for (size_t i = 0; i < sizeof services / sizeof *services; i++) {
        if (strncmp(name, "azurite-", 8) == 0 && strcmp(name + 8, services[i]) == 0) {
            program = name;
            only = services[i];
        }
    }
    read_arguments(argc, argv);
    if (given[HELP]) {
        print_help();
        return 0;
    }
    if (given[VERSION]) {
        printf("%s (Tavola %s)\n", AZURITE_VERSION, TV_VERSION);
        return 0;
    }
    check_arguments();
    warn();
    args[arg_count++] = (char *)(uintptr_t) "tavolad";
    add_flags();
    become_tavolad();
}
