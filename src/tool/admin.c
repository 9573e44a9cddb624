/*
 * A client of the admin port.  What answers there may be anything: the answer is bounded in size
 * and time, and the token goes only to a peer on this machine, which is where tavolad takes it,
 * that has proven on the same connection to know it (src/model/auth/admin_token.h).
 */
#include "admin.h"
#include "json_find.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/url.h"
#include "model/auth/admin_token.h"

#define DEFAULT_URL "http://127.0.0.1:10003"
#define WHY_SIZE 200
enum {
    HTTP_PORT = 80,
    TIMEOUT_S = 10,
    HEAD_BYTES_MAX = 16 << 10,
    ANSWER_BYTES_MAX = 16 << 20, /* /metrics has some ten KiB */
    TOKEN_BYTES_MAX = 256,
};

/* ---- the address ----------------------------------------------------------------------------- */

/* http://HOST[:PORT][/], where HOST may be [::1]. */
static bool parse_url(const char *text, tool_admin *admin)
{
    const char *why;
    tv_url url;

    if (!tv_url_parse(tv_slice_of(text), &url, &why) || !tv_url_is(&url, TV_LIT("http")) ||
        url.user.data || url.query.data || tv_url_base_path(&url).len ||
        url.host.len >= sizeof admin->host)
        return false;
    *tv_slice_put(admin->host, url.host) = '\0';
    snprintf(admin->port, sizeof admin->port, "%d", url.port ? url.port : HTTP_PORT);
    return true;
}

tool_exit tool_admin_open(const tool_run *run, tool_admin *ret_admin)
{
    const char *url = tool_value_or_environment(run, TOOL_FLAG_ADMIN, "TAVOLA_ADMIN");
    int64_t timeout_s = TIMEOUT_S;
    tool_exit exit = tool_number_of(run, TOOL_FLAG_TIMEOUT, 1, 86400, &timeout_s);

    if (exit)
        return exit;
    if (tool_has(run, TOOL_FLAG_CONNECTION))
        return tool_refuse("'tavola %s' asks the admin port of a server: name it with --admin, "
                           "not with -c",
                           run->verb->name);
    *ret_admin = (tool_admin){.url = url ? url : DEFAULT_URL, .timeout_ms = timeout_s * 1000};
    if (!parse_url(ret_admin->url, ret_admin))
        return tool_refuse("the admin port is given as " DEFAULT_URL ", not as '%s'",
                           ret_admin->url);
    return TOOL_OK;
}

/* ---- the token ------------------------------------------------------------------------------- */

static tool_exit refuse_file(const char *path)
{
    if (errno == ENOENT)
        return tool_refuse("there is no token in %s: name the server's data folder with --data, or "
                           "its token with --token-file",
                           path);
    if (errno == EACCES) {
        tool_trouble("the token in %s is for the user that runs the server", path);
        return TOOL_DENIED;
    }
    return tool_trouble("cannot read %s: %s", path, strerror(errno));
}

/* One line of letters and digits, so that nothing else gets into a header. */
static tool_exit read_token(const char *path, tool_text *ret_token)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    char line[TOKEN_BYTES_MAX + 2];
    tool_exit exit = TOOL_OK;
    struct stat stat;
    ssize_t size;

    if (fd < 0)
        return refuse_file(path);
    size = read(fd, line, sizeof line - 1);
    if (fstat(fd, &stat) != 0 || !S_ISREG(stat.st_mode) || size < 0) {
        exit = tool_trouble("%s is not a file that can be read", path);
    } else if (stat.st_mode & 077) {
        exit = tool_refuse("others may read the token in %s: chmod 600 %s", path, path);
    } else {
        line[size] = '\0';
        line[strcspn(line, "\r\n")] = '\0';
        if (!line[0] || strlen(line) > TOKEN_BYTES_MAX ||
            line[strspn(line, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_")])
            exit = tool_refuse("%s does not hold a token", path);
        else
            tool_text_puts(ret_token, line);
    }
    explicit_bzero(line, sizeof line);
    close(fd);
    return exit;
}

/* ---- the connection -------------------------------------------------------------------------- */

/* Wait until the socket can be read or written; false with errno when the time is over. */
static bool wait_for(int fd, short events, double until_ms)
{
    double left_ms = until_ms - tool_now_ms();

    if (tool_stop_wait(fd, events, left_ms > 0 ? (int)left_ms + 1 : 0))
        return true;
    errno = tool_stop_signal() ? EINTR : ETIMEDOUT;
    return false;
}

static bool connect_to(int fd, const struct addrinfo *address, double until_ms)
{
    int error = 0;
    socklen_t size = sizeof error;

    if (connect(fd, address->ai_addr, address->ai_addrlen) == 0)
        return true;
    if (errno != EINPROGRESS || !wait_for(fd, POLLOUT, until_ms))
        return false;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0)
        return false;
    errno = error;
    return error == 0;
}

static bool is_loopback(const struct sockaddr *address)
{
    const struct sockaddr_in *v4 = (const void *)address;
    const struct sockaddr_in6 *v6 = (const void *)address;

    if (address->sa_family == AF_INET)
        return ntohl(v4->sin_addr.s_addr) >> 24 == 127;
    return address->sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
}

/* ---- request and answer ---------------------------------------------------------------------- */

static void write_request(const tool_admin *admin, const tool_request *request, tool_text *to)
{
    bool is_v6 = strchr(admin->host, ':') != NULL;

    tool_text_printf(to, "%s %s HTTP/1.1\r\nHost: %s%s%s:%s\r\n", request->method, request->path,
                     is_v6 ? "[" : "", admin->host, is_v6 ? "]" : "", admin->port);
    if (!request->goes_on)
        tool_text_puts(to, "Connection: close\r\n");
    if (request->token) {
        tool_text_puts(to, "Authorization: Bearer ");
        tool_text_puts(to, request->token);
        tool_text_puts(to, "\r\n");
    }
    if (request->body)
        tool_text_printf(to, "Content-Type: application/json\r\nContent-Length: %zu\r\n",
                         strlen(request->body));
    tool_text_printf(to, "\r\n%s", request->body ? request->body : "");
}

static bool send_all(int fd, const tool_text *text, double until_ms, bool *ret_was_sent)
{
    for (size_t at = 0; at < text->size;) {
        ssize_t size = send(fd, text->at + at, text->size - at, MSG_NOSIGNAL);

        if (size > 0) {
            *ret_was_sent = true;
            at += (size_t)size;
        } else if ((errno != EAGAIN && errno != EINTR) || !wait_for(fd, POLLOUT, until_ms)) {
            return false;
        }
    }
    return true;
}

/* The value of a header of the head, which ends with an empty line; NULL when it has none. */
static const char *find_header(const char *head, const char *name)
{
    for (const char *line = strstr(head, "\r\n"); line; line = strstr(line, "\r\n")) {
        line += 2;
        if (strncasecmp(line, name, strlen(name)) == 0 && line[strlen(name)] == ':') {
            line += strlen(name) + 1;
            return line + strspn(line, " \t");
        }
    }
    return NULL;
}

/* Status and length of the body; the head is cut off and ends with a NUL. */
static bool parse_head(const char *head, int *ret_status, size_t *ret_length)
{
    const char *length = find_header(head, "Content-Length");
    size_t digits = length ? strspn(length, "0123456789") : 0;

    if (strncmp(head, "HTTP/1.", 7) != 0 || strspn(head + 7, "01") != 1 || head[8] != ' ' ||
        strspn(head + 9, "0123456789") != 3 || head[9] == '0')
        return false;
    if (digits == 0 || digits > 9 || !strchr("\r \t", length[digits]) ||
        find_header(head, "Transfer-Encoding"))
        return false;
    *ret_status = atoi(head + 9);
    *ret_length = strtoul(length, NULL, 10);
    return *ret_length <= ANSWER_BYTES_MAX;
}

/* More of the answer; false with errno, which is 0 at its end. */
static bool read_more(int fd, tool_text *to, double until_ms)
{
    char buffer[16 << 10];

    for (;;) {
        ssize_t size = recv(fd, buffer, sizeof buffer, 0);

        if (size > 0) {
            tool_text_add(to, buffer, (size_t)size);
            return true;
        }
        if (size == 0)
            errno = 0;
        if (size == 0 || (errno != EAGAIN && errno != EINTR) || !wait_for(fd, POLLIN, until_ms))
            return false;
    }
}

static const char *meaning_of(int error)
{
    return error == ETIMEDOUT ? "no answer in time; --timeout SECONDS gives it longer"
           : error            ? strerror(error)
                              : "the answer was cut short";
}

static bool read_answer(int fd, double until_ms, tool_answer *answer, char reterr_why[WHY_SIZE])
{
    tool_text bytes = {0};
    size_t head_size = 0, length = 0;
    const char *why = NULL;

    while (!why && (!head_size || bytes.size < head_size + length)) {
        const char *end;

        if (!read_more(fd, &bytes, until_ms)) {
            why = meaning_of(errno);
            break;
        }
        end = head_size ? NULL : memmem(bytes.at, bytes.size, "\r\n\r\n", 4);
        if (end) {
            bytes.at[end + 2 - bytes.at] = '\0';
            head_size = (size_t)(end + 4 - bytes.at);
            if (!parse_head(bytes.at, &answer->status, &length))
                why = "this is not the admin port of a tavolad";
        } else if (!head_size && bytes.size > HEAD_BYTES_MAX) {
            why = "this is not the admin port of a tavolad";
        }
    }
    if (why)
        snprintf(reterr_why, WHY_SIZE, "%s", why);
    else
        tool_text_add(&answer->body, bytes.at + head_size, length);
    tool_text_done(&bytes);
    return !why;
}

static bool exchange(int fd, const tool_admin *admin, const tool_request *request, double until_ms,
                     tool_answer *ret_answer, char reterr_why[WHY_SIZE])
{
    tool_text bytes = {0};
    bool is_well;

    write_request(admin, request, &bytes);
    is_well = send_all(fd, &bytes, until_ms, &ret_answer->was_sent);
    if (!is_well)
        snprintf(reterr_why, WHY_SIZE, "%s", meaning_of(errno));
    is_well = is_well && read_answer(fd, until_ms, ret_answer, reterr_why);
    explicit_bzero(bytes.at, bytes.size);
    tool_text_done(&bytes);
    return is_well;
}

/* ---- who answers ----------------------------------------------------------------------------- */

/* Whether the peer knows the token, which it is not sent. */
static bool is_proven(int fd, const tool_admin *admin, const char *token, const char *address,
                      double until_ms)
{
    char nonce[TV_ADMIN_NONCE_CHARS + 1], path[128], proof[TV_ADMIN_PROOF_CHARS + 1], wanted[128];
    unsigned char bytes[TV_ADMIN_NONCE_CHARS / 2];
    char why[WHY_SIZE];
    tool_answer answer = {0};
    bool is_well;

    if (getentropy(bytes, sizeof bytes) != 0)
        return false;
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(nonce + 2 * i, 3, "%02x", bytes[i]);
    tv_admin_token_prove(tv_slice_of(token), tv_slice_of(nonce), tv_slice_of(address), proof);
    snprintf(path, sizeof path, "/proof?nonce=%s", nonce);
    snprintf(wanted, sizeof wanted, "{\"proof\":\"%s\"}\n", proof);
    is_well = exchange(fd, admin, &(tool_request){.method = "GET", .path = path, .goes_on = true},
                       until_ms, &answer, why) &&
              answer.status == 200 && strcmp(answer.body.at, wanted) == 0;
    tool_answer_done(&answer);
    return is_well;
}

/* As the server has it of its end. */
static void put_address(const struct sockaddr *address, char to[80])
{
    const struct sockaddr_in *v4 = (const void *)address;
    const struct sockaddr_in6 *v6 = (const void *)address;
    char name[INET6_ADDRSTRLEN] = "";

    if (address->sa_family == AF_INET) {
        inet_ntop(AF_INET, &v4->sin_addr, name, sizeof name);
        snprintf(to, 80, "%s:%d", name, ntohs(v4->sin_port));
    } else {
        inet_ntop(AF_INET6, &v6->sin6_addr, name, sizeof name);
        snprintf(to, 80, "[%s]:%d", name, ntohs(v6->sin6_port));
    }
}

/* One of the addresses of a name.  Silence there leaves time for the others. */
static int open_address(const tool_admin *admin, const struct addrinfo *a, const char *token,
                        double until_ms, tool_answer *answer, char reterr_why[WHY_SIZE])
{
    double now_ms = tool_now_ms(), soon_ms = now_ms + (until_ms - now_ms) / (a->ai_next ? 2 : 1);
    int fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, a->ai_protocol);
    char address[80];

    if (fd < 0 || !connect_to(fd, a, soon_ms)) {
        snprintf(reterr_why, WHY_SIZE, "%s", strerror(errno));
    } else {
        put_address(a->ai_addr, address);
        if (!token || is_proven(fd, admin, token, address, soon_ms)) {
            snprintf(answer->from, sizeof answer->from, "%s", address);
            return fd;
        }
        answer->is_unproven = true;
        snprintf(answer->from, sizeof answer->from, "%s", address);
    }
    if (fd >= 0)
        close(fd);
    return -1;
}

/* A connected socket that does not block, to one who may have the token; or -1 and why. */
static int open_socket(const tool_admin *admin, const char *token, double until_ms,
                       tool_answer *answer, char reterr_why[WHY_SIZE])
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *addresses = NULL;
    int problem = getaddrinfo(admin->host, admin->port, &hints, &addresses), fd = -1;

    if (problem) {
        snprintf(reterr_why, WHY_SIZE, "%s", gai_strerror(problem));
        return -1;
    }
    snprintf(reterr_why, WHY_SIZE, "a token is sent to this machine only; run it there");
    for (struct addrinfo *a = addresses; a && fd < 0; a = a->ai_next) {
        if (!token || is_loopback(a->ai_addr))
            fd = open_address(admin, a, token, until_ms, answer, reterr_why);
    }
    freeaddrinfo(addresses);
    return fd;
}

bool tool_admin_ask(const tool_admin *admin, const tool_request *request, tool_answer *ret_answer,
                    char reterr_why[WHY_SIZE])
{
    double until_ms = tool_now_ms() + (double)admin->timeout_ms;
    int fd = open_socket(admin, request->token, until_ms, ret_answer, reterr_why);
    bool is_well = fd >= 0;

    if (is_well) {
        ret_answer->is_unproven = false;
        is_well = exchange(fd, admin, request, until_ms, ret_answer, reterr_why);
        close(fd);
    }
    return is_well;
}

/*
 * Where the server says that its token lies.  Whoever answers may name any file, so it must be a
 * token's, and our own: one that another user has made may hold what that user knows, who could
 * then prove to know it.
 */
static tool_exit find_file(const tool_admin *admin, tool_text *ret_path, bool *ret_has_answer,
                           char reterr_why[WHY_SIZE])
{
    static const char name[] = "/" TV_ADMIN_TOKEN_FILE;
    tool_request request = {.method = "GET", .path = "/token-file"};
    tool_answer answer = {0};
    struct stat stat_of;
    tool_exit exit = TOOL_OK;

    *ret_has_answer = tool_admin_ask(admin, &request, &answer, reterr_why);
    if (*ret_has_answer && answer.status == 200)
        tool_json_text(tool_json_get(tool_json_of(answer.body.at), "file"), ret_path);
    if (*ret_has_answer && !ret_path->size)
        tool_text_puts(ret_path, "./data/" TV_ADMIN_TOKEN_FILE); /* an older server */
    else if (*ret_has_answer && (ret_path->at[0] != '/' || ret_path->size <= strlen(name) ||
                                 strcmp(ret_path->at + ret_path->size - strlen(name), name) != 0))
        exit = tool_trouble("the server at %s answers with something else", admin->url);
    else if (*ret_has_answer && stat(ret_path->at, &stat_of) == 0 && stat_of.st_uid != geteuid()) {
        tool_trouble("the token of the server at %s is in %s, which belongs to another user: run "
                     "it as that user, or name the file with --token-file",
                     admin->url, ret_path->at);
        exit = TOOL_DENIED;
    }
    tool_answer_done(&answer);
    return exit;
}

/* The token of --token-file, --data, $TAVOLA_ADMIN_TOKEN_FILE or where the server has it; wipe it.
 * Without an answer of a server that was asked for it there is none. */
static tool_exit find_token(const tool_run *run, const tool_admin *admin, tool_text *ret_token,
                            bool *ret_has_answer, char reterr_why[WHY_SIZE])
{
    const char *data = tool_value_of(run, TOOL_FLAG_DATA);
    const char *file = tool_value_of(run, TOOL_FLAG_TOKEN_FILE);
    tool_text path = {0};
    tool_exit exit = TOOL_OK;

    *ret_has_answer = true;
    if (!file && !data)
        file = tool_value_or_environment(run, TOOL_FLAG_TOKEN_FILE, "TAVOLA_ADMIN_TOKEN_FILE");
    if (file)
        tool_text_puts(&path, file);
    else if (data)
        tool_text_printf(&path, "%s/" TV_ADMIN_TOKEN_FILE, data);
    else
        exit = find_file(admin, &path, ret_has_answer, reterr_why);
    if (!exit && *ret_has_answer)
        exit = read_token(path.at, ret_token);
    tool_text_done(&path);
    return exit;
}

tool_exit tool_admin_ask_with_token(const tool_run *run, const tool_admin *admin,
                                    tool_request request, tool_answer *ret_answer,
                                    bool *ret_has_answer, char reterr_why[200])
{
    tool_text token = {0};
    tool_exit exit = find_token(run, admin, &token, ret_has_answer, reterr_why);

    if (!exit && *ret_has_answer) {
        request.token = token.at;
        *ret_has_answer = tool_admin_ask(admin, &request, ret_answer, reterr_why);
    }
    if (!exit && !*ret_has_answer && ret_answer->is_unproven) {
        tool_trouble("what listens at http://%s does not prove that it knows the token, which was "
                     "not sent: it is another program, an older tavolad, or one with another data "
                     "folder",
                     ret_answer->from);
        exit = TOOL_DENIED;
    }
    if (token.at)
        explicit_bzero(token.at, token.room);
    tool_text_done(&token);
    return exit;
}

void tool_admin_add_member(tool_text *body, const char *name, const char *text)
{
    tool_text_printf(body, "%s\"%s\":\"", body->size ? "," : "{", name);
    for (; *text; text++)
        if ((unsigned char)*text < ' ')
            tool_text_printf(body, "\\u%04x", (unsigned)*text);
        else
            tool_text_printf(body, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
    tool_text_puts(body, "\"");
}

void tool_answer_done(tool_answer *answer)
{
    tool_text_done(&answer->body);
}
