/* A request to another server, or to this one: see ask.h. */
#include "server/main/ask.h"

#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>
#include <uv.h>

/* An address to connect to: the one that stands for all is that of this machine. */
static socklen_t find_address(const char *host, int port, struct sockaddr_storage *ret_address)
{
    struct sockaddr_in *v4 = (struct sockaddr_in *)ret_address;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)ret_address;

    *ret_address = (struct sockaddr_storage){0};
    if (uv_ip4_addr(host, port, v4) == 0) {
        if (v4->sin_addr.s_addr == htonl(INADDR_ANY))
            v4->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        return sizeof *v4;
    }
    if (uv_ip6_addr(host, port, v6) != 0)
        return 0;
    if (memcmp(&v6->sin6_addr, &in6addr_any, sizeof in6addr_any) == 0)
        v6->sin6_addr = in6addr_loopback;
    return sizeof *v6;
}

void tv_ask(const char *host, int port, const char *path, char *ret_answer, size_t answer_size)
{
    const struct timeval second = {.tv_sec = 1};
    char question[128];
    struct sockaddr_storage address;
    socklen_t address_len = find_address(host, port, &address);
    int fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ssize_t len = 0;

    ret_answer[0] = '\0';
    if (fd < 0)
        return;
    snprintf(question, sizeof question, "GET %s HTTP/1.0\r\nHost: localhost\r\n\r\n", path);
    if (address_len && setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &second, sizeof second) == 0 &&
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &second, sizeof second) == 0 &&
        connect(fd, (const struct sockaddr *)&address, address_len) == 0 &&
        send(fd, question, strlen(question), MSG_NOSIGNAL) > 0)
        len = recv(fd, ret_answer, answer_size - 1, MSG_WAITALL);
    ret_answer[len > 0 ? len : 0] = '\0';
    close(fd);
}

int tv_ask_health(const char *host, int port)
{
    char answer[4000];
    const char *body;

    tv_ask(host, port, "/ready", answer, sizeof answer);
    body = strstr(answer, "\r\n\r\n");
    if (body == NULL) {
        fprintf(stderr, "tavolad: no answer at %s port %d\n", host, port);
        return 1;
    }
    fputs(body + 4, stdout);
    return strncmp(answer + strcspn(answer, " "), " 200 ", 5) == 0 ? 0 : 1;
}
