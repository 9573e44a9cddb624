/*
 * XML answers, as the client reads them.  What is accepted is written out plainly and read again:
 * it must come out the same.  Lists of messages, blobs and policies are read, too.
 */
#include "fuzz.h"

#include "base/utf8.h"
#include "client/blob/blob.h"
#include "client/queue/queue.h"
#include "client/resource/policies.h"
#include "client/xml/xml.h"

/* By the first letter of its name an element is one of text, one to be skipped, or one of others:
 * a reader knows what it expects. */
static void write_children(tvc_xml *xml, tvc_text *to)
{
    tv_slice name;

    while (tvc_xml_child(xml, &name)) {
        tv_assert(xml->depth <= TVC_XML_DEPTH_MAX && !xml->is_bad);
        if (name.len && name.data[0] == 't') {
            tv_slice text = tvc_xml_text(xml);

            tv_assert(text.data[text.len] == '\0' && strlen(text.data) == text.len);
            tv_assert(tv_utf8_is_valid(text));
            tvc_xml_add_element(to, "t", text);
        } else if (name.len && name.data[0] == 'n') {
            tvc_xml_number(xml);
            tvc_text_add_lit(to, "<n>1</n>");
        } else if (name.len && name.data[0] == 's') {
            tvc_xml_skip(xml);
        } else {
            tvc_text_add_lit(to, "<e>");
            write_children(xml, to);
            tvc_text_add_lit(to, "</e>");
        }
    }
}

/* False when it is not XML. */
static bool write_again(char *document, size_t len, tvc_text *to)
{
    tvc_xml xml;

    tvc_xml_open(&xml, document, len, TV_LIT("r"));
    tvc_text_add_lit(to, "<r>");
    write_children(&xml, to);
    tvc_text_add_lit(to, "</r>");
    return tvc_xml_close(&xml);
}

static void check_text(const char *text)
{
    tv_assert(text == NULL || tv_utf8_is_valid(tv_slice_of(text)));
}

static void try_messages(tv_slice document)
{
    tavola_messages *messages = NULL;

    if (tvc_messages_read(tvc_dup(document), document.len, TVC_MESSAGES_MAX, &messages))
        return;
    for (size_t i = 0; i < tavola_messages_count(messages); i++) {
        const tavola_message *message = tavola_messages_at(messages, i);

        tv_assert(*tavola_message_id(message));
        check_text(tavola_message_id(message));
        check_text(tavola_message_pop_receipt(message));
        check_text(tavola_message_text(message));
    }
    tavola_messages_free(messages);
}

static void try_blobs(tv_slice document)
{
    tavola_blobs *blobs = NULL;

    if (tvc_blobs_read(tvc_dup(document), document.len, false, &blobs))
        return;
    for (size_t i = 0; i < tavola_blobs_count(blobs); i++) {
        const tavola_blob_info *info = tavola_blobs_at(blobs, i);

        tv_assert(*info->name);
        check_text(info->name);
        check_text(info->etag);
        check_text(info->content_type);
    }
    tavola_blobs_free(blobs);
}

static void try_policies(tv_slice document)
{
    tavola_policies *policies = NULL;

    if (tvc_policies_read(tvc_dup(document), document.len, &policies))
        return;
    tv_assert(tavola_policies_count(policies) <= TVC_POLICIES_MAX);
    for (size_t i = 0; i < tavola_policies_count(policies); i++) {
        const tavola_policy *policy = tavola_policies_at(policies, i);

        check_text(policy->id);
        check_text(policy->permissions);
    }
    tavola_policies_free(policies);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *document = malloc(size ? size : 1);
    tvc_text once = {0}, twice = {0};

    for (size_t i = 0; i < size; i++)
        document[i] = (char)data[i];
    if (write_again(document, size, &once)) {
        char *copy = tvc_dup(tvc_text_slice(&once));

        tv_assert(write_again(copy, once.buf.len, &twice));
        tv_assert(tv_slice_eq(tvc_text_slice(&once), tvc_text_slice(&twice)));
        tvc_release(copy);
    }
    tvc_text_done(&once);
    tvc_text_done(&twice);
    free(document);
    try_messages((tv_slice){(const char *)data, size});
    try_blobs((tv_slice){(const char *)data, size});
    try_policies((tv_slice){(const char *)data, size});
    return 0;
}
