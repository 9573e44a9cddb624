/*
 * Point reads through libcurl, for bench/run clients: what libtavola's own HTTP is compared with.
 *
 *   curl_bench URL ACCOUNT KEY TABLE ROWS SECONDS
 *
 * One easy handle and one connection, one read after the other: a request is signed by the same
 * functions as in libtavola, its answer is kept in memory and its status looked at.  What it does
 * not do is what libtavola does besides: parse the entity, and know what became of each request.
 * The headers are those of libtavola.
 *
 * Prints one line of JSON, as client_bench does.
 */
#include <curl/curl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/base64.h"
#include "model/auth/hmac.h"
#include "usage.h"

enum { PARTITIONS = 1000, KEY_MAX = 256, BODY_MAX = 64 * 1024, TEXT_MAX = 512 };

typedef struct bench {
    CURL *curl;
    const char *url, *account, *table;
    tv_hmac_key key;
    char body[BODY_MAX];
    size_t body_len;
} bench;

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "curl_bench: %s: %s\n", what, why);
    exit(1);
}

static void must(CURLcode code, const char *what)
{
    if (code != CURLE_OK)
        fail(what, curl_easy_strerror(code));
}

static size_t keep(char *bytes, size_t size, size_t count, void *user)
{
    bench *b = user;

    if (b->body_len + size * count > sizeof b->body)
        return 0;
    memcpy(b->body + b->body_len, bytes, size * count);
    b->body_len += size * count;
    return size * count;
}

/* SharedKeyLite of tables: the date and the resource.  By libtavola's own functions. */
static void sign(const bench *b, const char *date, const char *path, char ret_header[TEXT_MAX])
{
    unsigned char mac[TV_HMAC_BYTES];
    char text[TEXT_MAX], base64[2 * TV_HMAC_BYTES];
    size_t len = (size_t)snprintf(text, sizeof text, "%s\n/%s%s", date, b->account, path);

    tv_hmac_sign(&b->key, (tv_slice){text, len}, mac);
    tv_base64_encode(base64, (tv_slice){(const char *)mac, sizeof mac});
    snprintf(ret_header, TEXT_MAX, "Authorization: SharedKeyLite %s:%.*s", b->account,
             (int)tv_base64_encoded_len(sizeof mac), base64);
}

/* As libtavola has it in each request; the value is never looked at by the server. */
static void make_request_id(uint64_t number, char ret_header[TEXT_MAX])
{
    snprintf(ret_header, TEXT_MAX, "x-ms-client-request-id: 00000000-0000-4000-8000-%012" PRIx64,
             number);
}

static void read_one(bench *b, uint64_t number, uint64_t request)
{
    char path[TEXT_MAX], url[2 * TEXT_MAX], date[64], header[TEXT_MAX];
    struct curl_slist *headers = NULL;
    time_t now = time(NULL);
    struct tm tm;
    long status = 0;

    gmtime_r(&now, &tm);
    strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S GMT", &tm);
    snprintf(path, sizeof path, "/%s/%s(PartitionKey='p%03u',RowKey='r%09" PRIu64 "')", b->account,
             b->table, (unsigned)(number % PARTITIONS), number / PARTITIONS);
    snprintf(url, sizeof url, "%s%s", b->url, path);

    snprintf(header, sizeof header, "x-ms-date: %s", date);
    headers = curl_slist_append(headers, header);
    sign(b, date, path, header);
    headers = curl_slist_append(headers, header);
    make_request_id(request, header);
    headers = curl_slist_append(headers, header);
    headers = curl_slist_append(headers, "x-ms-version: 2019-02-02");
    headers = curl_slist_append(headers, "Accept: application/json;odata=minimalmetadata");
    headers = curl_slist_append(headers, "DataServiceVersion: 3.0;NetFx");
    headers = curl_slist_append(headers, "MaxDataServiceVersion: 3.0;NetFx");

    b->body_len = 0;
    must(curl_easy_setopt(b->curl, CURLOPT_URL, url), "URL");
    must(curl_easy_setopt(b->curl, CURLOPT_HTTPHEADER, headers), "headers");
    must(curl_easy_perform(b->curl), "read");
    must(curl_easy_getinfo(b->curl, CURLINFO_RESPONSE_CODE, &status), "status");
    curl_slist_free_all(headers);
    if (status != 200)
        fail(path, "it is not there");
}

int main(int argc, char **argv)
{
    static bench b;
    usage_span span;
    uint64_t rows, next = 0, done = 0;
    double until_s;
    char secret[KEY_MAX];
    size_t len = 0;

    if (argc != 7) {
        fprintf(stderr, "usage: curl_bench URL ACCOUNT KEY TABLE ROWS SECONDS\n");
        return 2;
    }
    b.url = argv[1];
    b.account = argv[2];
    b.table = argv[4];
    rows = strtoull(argv[5], NULL, 10);
    if (strlen(argv[3]) > sizeof secret || !tv_base64_decode(secret, tv_slice_of(argv[3]), &len))
        fail("the key", "it is not base64");
    tv_hmac_key_init(&b.key, (tv_slice){secret, len});
    must(curl_global_init(CURL_GLOBAL_DEFAULT), "init");
    b.curl = curl_easy_init();
    if (b.curl == NULL)
        fail("init", "no handle");
    must(curl_easy_setopt(b.curl, CURLOPT_WRITEFUNCTION, keep), "body");
    must(curl_easy_setopt(b.curl, CURLOPT_WRITEDATA, &b), "body");
    must(curl_easy_setopt(b.curl, CURLOPT_USERAGENT, "curl_bench"), "agent");
    must(curl_easy_setopt(b.curl, CURLOPT_NOSIGNAL, 1L), "signals");
    must(curl_easy_setopt(b.curl, CURLOPT_PROXY, ""), "proxy");

    usage_begin(&span);
    until_s = span.began_s + strtod(argv[6], NULL);
    while ((done & 63) || usage_now_s() < until_s) {
        next = (next + 7919) % rows;
        read_one(&b, next, done++);
    }
    usage_report(&span, done);
    curl_easy_cleanup(b.curl);
    curl_global_cleanup();
    return 0;
}
