/*
 * Which account.  In this order: -c; AZURE_STORAGE_CONNECTION_STRING; AZURE_STORAGE_ACCOUNT with
 * AZURE_STORAGE_KEY or AZURE_STORAGE_SAS_TOKEN; the development account of this machine.
 *
 * Everybody on a machine can read the command lines of its processes, and shells write them to a
 * file.  A key or signature is therefore refused there; the file of connections must be readable by
 * its owner alone.
 */
#include "text.h"
#include "tool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEVELOPMENT "UseDevelopmentStorage=true"

static void wipe(tool_text *text)
{
    if (text->at)
        explicit_bzero(text->at, text->room);
    tool_text_done(text);
}

static bool find_file(tool_text *ret_path)
{
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");

    if (config && config[0] == '/')
        tool_text_printf(ret_path, "%s/tavola/connections", config);
    else if (home && *home)
        tool_text_printf(ret_path, "%s/.config/tavola/connections", home);
    else
        return false;
    return true;
}

static tool_exit read_file(const char *path, const char *name, tool_text *ret_content)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    char buffer[4096];
    struct stat stat;
    tool_exit exit = TOOL_OK;
    ssize_t size;

    if (fd < 0)
        return errno == ENOENT
                   ? tool_refuse("there is no connection '%s': write a line '%s = connection "
                                 "string' to %s (mode 600)",
                                 name, name, path)
                   : tool_trouble("cannot read %s: %s", path, strerror(errno));
    if (fstat(fd, &stat) != 0 || !S_ISREG(stat.st_mode))
        exit = tool_trouble("%s is not a file", path);
    else if (stat.st_mode & 077)
        exit = tool_refuse("others may read the keys in %s: chmod 600 %s", path, path);
    while (!exit && (size = read(fd, buffer, sizeof buffer)) != 0) {
        if (size < 0)
            exit = tool_trouble("cannot read %s: %s", path, strerror(errno));
        else
            tool_text_add(ret_content, buffer, (size_t)size);
    }
    explicit_bzero(buffer, sizeof buffer);
    close(fd);
    return exit;
}

/* The part of a line without the blanks around it. */
static void trim(const char **from, size_t *size)
{
    while (*size && strchr(" \t\r", (*from)[0])) {
        (*from)++;
        (*size)--;
    }
    while (*size && strchr(" \t\r", (*from)[*size - 1]))
        (*size)--;
}

/* The string behind "name =" in the file; false when no line has that name. */
static bool find_name(const tool_text *content, const char *name, tool_text *ret_string)
{
    const char *line = content->size ? content->at : "";

    while (*line) {
        size_t size = strcspn(line, "\n");
        const char *equals = memchr(line, '=', size);

        if (equals && line[0] != '#') {
            const char *left = line, *right = equals + 1;
            size_t left_size = (size_t)(equals - line);
            size_t right_size = size - left_size - 1;

            trim(&left, &left_size);
            trim(&right, &right_size);
            if (strlen(name) == left_size && memcmp(name, left, left_size) == 0) {
                tool_text_add(ret_string, right, right_size);
                return true;
            }
        }
        line += size + (line[size] == '\n');
    }
    return false;
}

void tool_each_connection(void (*visit)(void *user, const char *name), void *user)
{
    tool_text path = {0}, content = {0};
    struct stat stat_of;

    /* A file that is refused is not opened here: nobody asked for it. */
    if (find_file(&path) && stat(path.at, &stat_of) == 0 && !(stat_of.st_mode & 077) &&
        tool_text_read_own(&content, path.at))
        for (const char *line = content.at; *line;
             line += strcspn(line, "\n"), line += *line == '\n') {
            size_t size = strcspn(line, "\n"), left_size = strcspn(line, "=\n");
            const char *left = line;

            if (line[0] == '#' || left_size == size)
                continue;
            trim(&left, &left_size);
            char *name = tool_copy_part(left, left_size);

            visit(user, name);
            free(name);
        }
    wipe(&content);
    tool_text_done(&path);
}

static tool_exit by_name(const char *name, tool_text *ret_string)
{
    tool_text path = {0}, content = {0};
    tool_exit exit;

    if (!find_file(&path))
        return tool_refuse("HOME is not set, so there is no file that could have a connection '%s'",
                           name);
    exit = read_file(path.at, name, &content);
    if (!exit && !find_name(&content, name, ret_string))
        exit = tool_refuse("there is no connection '%s' in %s: add a line '%s = connection string'",
                           name, path.at, name);
    wipe(&content);
    tool_text_done(&path);
    return exit;
}

static bool has_secret(const char *string)
{
    return strcasestr(string, "AccountKey=") || strcasestr(string, "SharedAccessSignature=") ||
           tool_has_signature(string);
}

static tool_exit by_flag(const char *value, tool_text *ret_string)
{
    if (!strchr(value, '='))
        return by_name(value, ret_string);
    if (has_secret(value))
        return tool_refuse("a key on the command line is seen by every user (ps) and kept in the "
                           "shell's history: put it into ~/.config/tavola/connections and name it "
                           "with -c, or set AZURE_STORAGE_CONNECTION_STRING");
    tool_text_puts(ret_string, value);
    return TOOL_OK;
}

static const char *environment(const char *name)
{
    const char *value = getenv(name);

    return value && *value ? value : NULL;
}

/* A connection string of az's variables; a ';' in one of them would be another setting. */
static tool_exit by_account(const char *account, tool_text *ret_string)
{
    const char *key = environment("AZURE_STORAGE_KEY");
    const char *sas = environment("AZURE_STORAGE_SAS_TOKEN");

    if (!key && !sas)
        return tool_refuse("AZURE_STORAGE_ACCOUNT is set: set AZURE_STORAGE_KEY or "
                           "AZURE_STORAGE_SAS_TOKEN, too");
    if (strchr(account, ';') || (key && strchr(key, ';')) || (!key && strchr(sas, ';')))
        return tool_refuse("a ';' in AZURE_STORAGE_ACCOUNT, _KEY or _SAS_TOKEN is not valid");
    tool_text_printf(ret_string, "DefaultEndpointsProtocol=https;AccountName=%s;%s=%s", account,
                     key ? "AccountKey" : "SharedAccessSignature",
                     key ? key : sas + (sas[0] == '?'));
    return TOOL_OK;
}

static tool_exit find_string(const tool_run *run, size_t nth, tool_text *ret_string)
{
    const char *flag = tool_value_nth(run, TOOL_FLAG_CONNECTION, nth);
    const char *string = environment("AZURE_STORAGE_CONNECTION_STRING");
    const char *account = environment("AZURE_STORAGE_ACCOUNT");

    if (flag)
        return by_flag(flag, ret_string);
    if (!string && account)
        return by_account(account, ret_string);
    tool_text_puts(ret_string, string ? string : DEVELOPMENT);
    return TOOL_OK;
}

static void tell_request(void *user, int level, const char *text)
{
    tool_note("%s", text);
}

static tool_exit open_client(tool_run *run, size_t nth)
{
    tavola_client_options options = {
        .struct_size = sizeof options, .application = "tavola-tool", .absent_is_final = true};
    tool_text string = {0};
    int64_t timeout_s = 0;
    tool_exit exit = tool_number_of(run, TOOL_FLAG_TIMEOUT, 1, 86400, &timeout_s);

    if (!exit)
        exit = find_string(run, nth, &string);
    if (exit)
        goto out;

    options.ca_file = tool_value_of(run, TOOL_FLAG_CA_FILE);
    if (tool_has(run, TOOL_FLAG_VERBOSE))
        options.log = tell_request;
    options.total_timeout_ms = (uint32_t)timeout_s * 1000;

    tavola_err err = tavola_client_open(string.at, &options, &run->clients[nth]);

    if (err)
        exit = tool_refuse("the connection string cannot be used: %s", tavola_error_text(err));

out:
    wipe(&string);
    return exit;
}

tool_exit tool_client_nth(tool_run *run, size_t nth, tavola_client **ret_client)
{
    if (!run->clients[nth]) {
        tool_exit exit = open_client(run, nth);
        if (exit)
            return exit;
    }
    *ret_client = run->clients[nth];
    return TOOL_OK;
}

tool_exit tool_client(tool_run *run, tavola_client **ret_client)
{
    return tool_client_nth(run, 0, ret_client);
}

tool_exit tool_table(tool_run *run, const char *name, tavola_table **ret_table)
{
    tavola_client *client;
    tool_exit exit = tool_client(run, &client);
    tavola_err err;

    if (exit)
        return exit;
    err = tavola_table_open(client, name, ret_table);
    if (err == TAVOLA_ERR_INVALID)
        return tool_refuse("'%s' is not the name of a table: 3 to 63 letters and digits, a letter "
                           "first",
                           name);
    return err ? tool_fail(run, err, NULL) : TOOL_OK;
}

void tool_run_done(tool_run *run)
{
    for (size_t i = 0; i < 2; i++)
        tavola_client_close(run->clients[i]);
    tavola_call_free(run->call);
    free(run->args);
    free(run->given);
    free(run->where);
}
