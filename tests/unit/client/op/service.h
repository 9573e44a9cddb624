/*
 * Clients of scripted servers, and operations as services make them, for tests of op/.
 */
#ifndef TEST_OP_SERVICE_H
#define TEST_OP_SERVICE_H

#include <stdio.h>

#include "check.h"
#include "client/net/script_server.h"
#include "client/op/op.h"

#define KEY                                                                                        \
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="

/* Answers. */
#define NO_CONTENT                                                                                 \
    {                                                                                              \
        .text = "HTTP/1.1 204 No Content\r\nETag: W/\"new\"\r\nContent-Length: 0\r\n\r\n"          \
    }
#define CUT                                                                                        \
    {                                                                                              \
        .then_close = true                                                                         \
    }
#define HALF                                                                                       \
    {                                                                                              \
        .text = "HTTP/1.1 204 No Content\r\nContent-Len", .then_close = true                       \
    }
#define REFUSED(status, code)                                                                      \
    {                                                                                              \
        .text = "HTTP/1.1 " #status " X\r\nx-ms-error-code: " code "\r\nContent-Length: 0\r\n\r\n" \
    }
#define CHUNKED(body)                                                                              \
    {                                                                                              \
        .text = "HTTP/1.1 200 OK\r\nETag: W/\"read\"\r\nConnection: close\r\n\r\n" body,           \
        .then_close = true                                                                         \
    }

#define CHECK_CODE(got, want)                                                                      \
    do {                                                                                           \
        tavola_err got_ = (got), want_ = (want);                                                   \
        if (got_ != want_)                                                                         \
            CHECK_FAIL("%s: got %s, want %s", #got, tavola_err_name(got_),                         \
                       tavola_err_name(want_));                                                    \
    } while (0)

/* A client with short pauses; `change` may change its options. */
static inline tavola_client *open_client(const script_server *primary,
                                         const script_server *secondary,
                                         void (*change)(tavola_client_options *options))
{
    tavola_client_options options = {
        .struct_size = sizeof options,
        .retry_delay_ms = 1,
        .proxy = "",
        .secondary_reads = secondary != NULL,
    };
    char text[512], rest[200] = "";
    tavola_client *client = NULL;

    if (change)
        change(&options);
    if (secondary)
        snprintf(rest, sizeof rest, "TableSecondaryEndpoint=http://127.0.0.1:%d/account-secondary",
                 secondary->port);
    snprintf(text, sizeof text,
             "AccountName=account;AccountKey=" KEY ";TableEndpoint=http://127.0.0.1:%d/account;%s",
             primary->port, rest);
    CHECK_CODE(tavola_client_open(text, &options, &client), TAVOLA_OK);
    return client;
}

static inline tavola_op *make_get(tavola_client *client, tavola_call *call)
{
    tavola_op *op = tvc_op_new(client, TV_SERVICE_TABLE, call);

    if (op == NULL)
        return NULL;
    op->request.method = "GET";
    op->is_read = true;
    tvc_text_add_lit(&op->request.path, "/People(PartitionKey='a',RowKey='b')");
    return op;
}

static inline tavola_op *make_write(tavola_client *client, tavola_call *call, const char *body)
{
    tavola_op *op = tvc_op_new(client, TV_SERVICE_TABLE, call);

    if (op == NULL)
        return NULL;
    op->request.method = "POST";
    tvc_text_add_lit(&op->request.path, "/People");
    tvc_op_add_header(op, TV_LIT("Content-Type"), TV_LIT("application/json"));
    tvc_text_add(&op->request.body, tv_slice_of(body));
    return op;
}

#endif
