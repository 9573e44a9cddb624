/* Connection strings: every form of Azure's, of Azurite's, and what is refused. */
#include "client/account/connection.h"

#include "check.h"
#include "client/memory_faults.h"

#define KEY "c2VjcmV0LWtleQ=="
#define SAS "sv=2019-02-02&ss=t&sig=a%2Bb%3D"
#define DEV_KEY                                                                                    \
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="

/* NULL where there is none. */
typedef struct expected {
    const char *label, *text, *account;
    bool has_key;
    const char *sas;
    const char *primary[TVC_SERVICES], *secondary[TVC_SERVICES]; /* table, queue, blob */
} expected;

#define AZURE(account, scheme, suffix)                                                             \
    {                                                                                              \
        scheme "://" account ".table." suffix, scheme "://" account ".queue." suffix,              \
            scheme "://" account ".blob." suffix                                                   \
    }
#define LOCAL(scheme, host, account)                                                               \
    {                                                                                              \
        scheme "://" host ":10002/" account, scheme "://" host ":10001/" account,                  \
            scheme "://" host ":10000/" account                                                    \
    }

static const expected good[] = {
    {"development storage", "UseDevelopmentStorage=true", "devstoreaccount1", true, NULL,
     LOCAL("http", "127.0.0.1", "devstoreaccount1"),
     LOCAL("http", "127.0.0.1", "devstoreaccount1-secondary")},
    {"in any case, with blanks and empty parts", " ; usedevelopmentstorage = TRUE ;; ",
     "devstoreaccount1", true, NULL, LOCAL("http", "127.0.0.1", "devstoreaccount1"),
     LOCAL("http", "127.0.0.1", "devstoreaccount1-secondary")},
    {"development storage elsewhere",
     "UseDevelopmentStorage=true;DevelopmentStorageProxyUri=https://storage.test:8080/x/",
     "devstoreaccount1", true, NULL, LOCAL("https", "storage.test", "devstoreaccount1"),
     LOCAL("https", "storage.test", "devstoreaccount1-secondary")},
    {"development storage at an IPv6 address",
     "UseDevelopmentStorage=true;DevelopmentStorageProxyUri=http://[::1]:9", "devstoreaccount1",
     true, NULL, LOCAL("http", "[::1]", "devstoreaccount1"),
     LOCAL("http", "[::1]", "devstoreaccount1-secondary")},
    {"development storage, one port changed",
     "UseDevelopmentStorage=true;TableEndpoint=http://127.0.0.1:4711/devstoreaccount1",
     "devstoreaccount1",
     true,
     NULL,
     {"http://127.0.0.1:4711/devstoreaccount1", "http://127.0.0.1:10001/devstoreaccount1",
      "http://127.0.0.1:10000/devstoreaccount1"},
     {"http://127.0.0.1:4711/devstoreaccount1-secondary",
      "http://127.0.0.1:10001/devstoreaccount1-secondary",
      "http://127.0.0.1:10000/devstoreaccount1-secondary"}},
    {"the portal's string",
     "DefaultEndpointsProtocol=https;AccountName=contoso;AccountKey=" KEY
     ";EndpointSuffix=core.windows.net",
     "contoso", true, NULL, AZURE("contoso", "https", "core.windows.net"),
     AZURE("contoso-secondary", "https", "core.windows.net")},
    {"name and key alone", "AccountName=contoso;AccountKey=" KEY, "contoso", true, NULL,
     AZURE("contoso", "https", "core.windows.net"),
     AZURE("contoso-secondary", "https", "core.windows.net")},
    {"http and another cloud",
     "DefaultEndpointsProtocol=HTTP;AccountName=contoso;AccountKey=" KEY
     ";EndpointSuffix=core.chinacloudapi.cn",
     "contoso", true, NULL, AZURE("contoso", "http", "core.chinacloudapi.cn"),
     AZURE("contoso-secondary", "http", "core.chinacloudapi.cn")},
    {"Azurite's long string",
     "DefaultEndpointsProtocol=http;AccountName=devstoreaccount1;AccountKey=" DEV_KEY
     ";BlobEndpoint=http://127.0.0.1:10000/devstoreaccount1;QueueEndpoint=http://127.0.0.1:10001/"
     "devstoreaccount1;TableEndpoint=http://127.0.0.1:10002/devstoreaccount1;",
     "devstoreaccount1", true, NULL, LOCAL("http", "127.0.0.1", "devstoreaccount1"),
     LOCAL("http", "127.0.0.1", "devstoreaccount1-secondary")},
    {"only a table, path style: the rest is not Azure's",
     "DefaultEndpointsProtocol=http;AccountName=devstoreaccount1;AccountKey=" DEV_KEY
     ";TableEndpoint=http://localhost:10002/devstoreaccount1/;",
     "devstoreaccount1",
     true,
     NULL,
     {"http://localhost:10002/devstoreaccount1"},
     {"http://localhost:10002/devstoreaccount1-secondary"}},
    {"a domain of one's own has no known secondary, the others are Azure's",
     "DefaultEndpointsProtocol=https;AccountName=contoso;AccountKey=" KEY
     ";TableEndpoint=https://tables.contoso.com/",
     "contoso",
     true,
     NULL,
     {"https://tables.contoso.com", "https://contoso.queue.core.windows.net",
      "https://contoso.blob.core.windows.net"},
     {NULL, "https://contoso-secondary.queue.core.windows.net",
      "https://contoso-secondary.blob.core.windows.net"}},
    {"endpoints without a protocol stand alone",
     "AccountName=contoso;AccountKey=" KEY ";TableEndpoint=https://contoso.table.core.windows.net",
     "contoso",
     true,
     NULL,
     {"https://contoso.table.core.windows.net"},
     {"https://contoso-secondary.table.core.windows.net"}},
    {"a secondary of its own",
     "AccountName=contoso;AccountKey=" KEY ";TableEndpoint=https://a.example/"
     ";TableSecondaryEndpoint=https://b.example/x/",
     "contoso",
     true,
     NULL,
     {"https://a.example"},
     {"https://b.example/x"}},
    {"a secondary of its own beside Azure's endpoints",
     "AccountName=contoso;AccountKey=" KEY ";QueueSecondaryEndpoint=https://b.example",
     "contoso",
     true,
     NULL,
     AZURE("contoso", "https", "core.windows.net"),
     {"https://contoso-secondary.table.core.windows.net", "https://b.example",
      "https://contoso-secondary.blob.core.windows.net"}},
    {"a signature and endpoints",
     "TableEndpoint=https://contoso.table.core.windows.net/;SharedAccessSignature=" SAS,
     "",
     false,
     SAS,
     {"https://contoso.table.core.windows.net"},
     {"https://contoso-secondary.table.core.windows.net"}},
    {"a signature with a question mark, and a name",
     "AccountName=contoso;SharedAccessSignature=?" SAS, "contoso", false, SAS,
     AZURE("contoso", "https", "core.windows.net"),
     AZURE("contoso-secondary", "https", "core.windows.net")},
    {"a signature inside the endpoint",
     "TableEndpoint=https://contoso.table.core.windows.net/?" SAS,
     "",
     false,
     SAS,
     {"https://contoso.table.core.windows.net"},
     {"https://contoso-secondary.table.core.windows.net"}},
    {"the same signature in each place",
     "TableEndpoint=http://h:1/a?" SAS ";QueueEndpoint=http://h:2/a/?" SAS
     ";SharedAccessSignature=" SAS,
     "",
     false,
     SAS,
     {"http://h:1/a", "http://h:2/a"},
     {"http://h:1/a-secondary", "http://h:2/a-secondary"}},
    {"endpoints of other services are passed over",
     "AccountName=contoso;AccountKey=" KEY ";FileEndpoint=https://f/;DfsEndpoint=;"
     "FileSecondaryEndpoint=x",
     "contoso", true, NULL, AZURE("contoso", "https", "core.windows.net"),
     AZURE("contoso-secondary", "https", "core.windows.net")},
    {"a scheme in capitals",
     "TableEndpoint=HTTPS://x;SharedAccessSignature=" SAS,
     "",
     false,
     SAS,
     {"https://x"},
     {NULL}},
};

static void check_text(const char *got, const char *want)
{
    if (want == NULL || got == NULL)
        CHECK(got == want);
    else
        CHECK_TEXT(tv_slice_of(got), want);
}

TEST(reads_every_form)
{
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        const expected *want = &good[i];
        tvc_connection connection;

        t_row = want->label;

        tavola_err err = tvc_connection_parse(want->text, false, &connection);

        if (err)
            CHECK_FAIL("%s: %s", tavola_err_name(err), tavola_error_text(err));
        check_text(connection.credentials.account, want->account);
        check_text(connection.credentials.sas, want->sas);
        CHECK(connection.credentials.has_key == want->has_key);
        for (int service = 0; service < TVC_SERVICES; service++) {
            check_text(connection.primary[service], want->primary[service]);
            check_text(connection.secondary[service], want->secondary[service]);
        }
        tvc_connection_done(&connection);
    }
}

TEST(keeps_the_key_with_its_equal_signs)
{
    tvc_connection connection;
    tv_hmac_key key;
    unsigned char got[TV_HMAC_BYTES], want[TV_HMAC_BYTES];

    assert_int_equal(tvc_connection_parse("AccountKey=" KEY ";AccountName=a", false, &connection),
                     TAVOLA_OK);
    tv_hmac_key_init(&key, TV_LIT("secret-key"));
    tv_hmac_sign(&key, TV_LIT("x"), want);
    tv_hmac_sign(&connection.credentials.key, TV_LIT("x"), got);
    assert_memory_equal(got, want, sizeof got);
    tvc_connection_done(&connection);
}

TEST(refuses_with_a_line_and_without_secrets)
{
    static const struct {
        const char *label, *text, *why;
    } cases[] = {
        {"nothing", NULL, "there is no connection string"},
        {"empty", "", "the connection string is empty"},
        {"blank", " ; ;", "the connection string is empty"},
        {"a word", "AccountName=a;SECRET", "setting 2 of the connection string has no '='"},
        {"not known", "SECRET==", "setting 1 of the connection string is not known"},
        {"twice", "AccountName=a;accountname=a", "AccountName is given twice"},
        {"no value", "AccountName= ", "AccountName has no value"},
        {"no credentials", "AccountName=a",
         "neither AccountKey nor SharedAccessSignature is given"},
        {"no name", "AccountKey=" KEY, "AccountKey needs AccountName"},
        {"no place", "SharedAccessSignature=sig=SECRET",
         "neither AccountName nor an endpoint is given"},
        {"not base64", "AccountName=a;AccountKey=SECRET!", "AccountKey is not valid base64"},
        {"base64 cut off", "AccountName=a;AccountKey=SECRETa", "AccountKey is not valid base64"},
        {"an odd name", "AccountName=a/b;AccountKey=" KEY,
         "AccountName is not a name of letters and digits"},
        {"a line in a name", "AccountName=a\r\nX: y;AccountKey=" KEY,
         "AccountName is not a name of letters and digits"},
        {"false", "UseDevelopmentStorage=false", "UseDevelopmentStorage can only be true"},
        {"two accounts", "UseDevelopmentStorage=true;AccountKey=SECRET",
         "UseDevelopmentStorage excludes AccountKey"},
        {"a proxy alone", "DevelopmentStorageProxyUri=http://x",
         "DevelopmentStorageProxyUri needs UseDevelopmentStorage=true"},
        {"a proxy that is none", "UseDevelopmentStorage=true;DevelopmentStorageProxyUri=x",
         "DevelopmentStorageProxyUri is not an http or https URL"},
        {"ftp", "DefaultEndpointsProtocol=ftp;AccountName=a;AccountKey=" KEY,
         "DefaultEndpointsProtocol is neither http nor https"},
        {"a suffix with a path", "AccountName=a;EndpointSuffix=x/y;AccountKey=" KEY,
         "EndpointSuffix is not the end of a host's name"},
        {"an endpoint without a scheme", "TableEndpoint=x;SharedAccessSignature=" SAS,
         "TableEndpoint is not an http or https URL"},
        {"an endpoint without a host", "TableEndpoint=http:///x;SharedAccessSignature=" SAS,
         "TableEndpoint is not an http or https URL"},
        {"a user in an endpoint", "TableEndpoint=http://u:SECRET@x;SharedAccessSignature=" SAS,
         "TableEndpoint is not an http or https URL"},
        {"a port that is none", "TableEndpoint=http://x:65536;SharedAccessSignature=" SAS,
         "TableEndpoint is not an http or https URL"},
        {"a host that is none", "TableEndpoint=http://a%62;SharedAccessSignature=" SAS,
         "TableEndpoint is not an http or https URL"},
        {"a suffix with two ports", "AccountName=a;EndpointSuffix=x:1:2;AccountKey=" KEY,
         "EndpointSuffix is not the end of a host's name"},
        {"a line in an endpoint", "TableEndpoint=http://x/\r\nb;SharedAccessSignature=" SAS,
         "TableEndpoint is not an http or https URL"},
        {"a fragment", "TableEndpoint=http://x/#y;SharedAccessSignature=" SAS,
         "TableEndpoint is not an http or https URL"},
        {"a secondary that is none",
         "TableEndpoint=http://x;TableSecondaryEndpoint=y;"
         "SharedAccessSignature=" SAS,
         "TableSecondaryEndpoint is not an http or https URL"},
        {"a secondary alone",
         "TableEndpoint=http://x;BlobSecondaryEndpoint=http://y;"
         "SharedAccessSignature=" SAS,
         "BlobSecondaryEndpoint needs BlobEndpoint"},
        {"no sig", "AccountName=a;SharedAccessSignature=sv=SECRET",
         "SharedAccessSignature has no usable shared access signature"},
        {"an empty sig", "AccountName=a;SharedAccessSignature=sig=&sv=SECRET",
         "SharedAccessSignature has no usable shared access signature"},
        {"a blank in a signature", "AccountName=a;SharedAccessSignature=sig=SECRET b",
         "SharedAccessSignature has no usable shared access signature"},
        {"a query that is no signature", "TableEndpoint=http://x?a=SECRET",
         "TableEndpoint has no usable shared access signature"},
        {"two signatures", "TableEndpoint=http://x?sig=SECRET;SharedAccessSignature=" SAS,
         "TableEndpoint has another signature than the rest"},
        {"key and signature", "AccountName=a;AccountKey=" KEY ";SharedAccessSignature=" SAS,
         "an account key and a shared access signature exclude each other"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tvc_connection connection;
        const char *why;

        t_row = cases[i].label;
        CHECK_INT(tvc_connection_parse(cases[i].text, false, &connection), TAVOLA_ERR_INVALID);
        why = tavola_error_text(TAVOLA_ERR_INVALID);
        CHECK(strstr(why, "SECRET") == NULL);
        CHECK_TEXT(tv_slice_of(why), cases[i].why);
    }
}

TEST(refuses_a_book)
{
    static char text[70000];
    tvc_connection connection;

    memset(text, ';', sizeof text - 1);
    assert_int_equal(tvc_connection_parse(text, false, &connection), TAVOLA_ERR_INVALID);
    assert_string_equal(tavola_error_text(TAVOLA_ERR_INVALID), "the connection string is too long");
}

TEST(survives_a_lack_of_memory)
{
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        t_row = good[i].label;
        MEMORY_FAULTS(fault)
        {
            tvc_connection connection;
            tavola_err err = tvc_connection_parse(good[i].text, false, &connection);

            CHECK(err == TAVOLA_OK || (err == TAVOLA_ERR_NO_MEMORY && memory_fault_was_hit()));
            if (err == TAVOLA_OK) {
                CHECK_TEXT(tv_slice_of(connection.primary[0]), good[i].primary[0]);
                tvc_connection_done(&connection);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_every_form),
        cmocka_unit_test(keeps_the_key_with_its_equal_signs),
        cmocka_unit_test(refuses_with_a_line_and_without_secrets),
        cmocka_unit_test(refuses_a_book),
        cmocka_unit_test(survives_a_lack_of_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
