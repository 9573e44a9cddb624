/* Service settings, from XML and to XML. */
#include "model/catalog/settings.h"

#include "base/assert.h"
#include "base/datetime.h"
#include "base/method.h"
#include "base/number.h"
#include "base/xml.h"

/* The only version of metrics, and of the logs of a table service; others have another. */
static const tv_slice version = {"1.0", 3}, version_2 = {"2.0", 3};

tv_service_settings tv_settings_default(tv_service_kind service)
{
    return (tv_service_settings){
        .default_version = service == TV_SERVICE_BLOB ? TV_LIT("") : TV_NONE,
        .logging = {.is_set = true},
        .hour_metrics = {.is_set = true},
        .minute_metrics = {.is_set = true},
        .cors = {.is_set = true},
    };
}

void tv_settings_apply(tv_service_settings *settings, const tv_service_settings *update)
{
    if (update->logging.is_set)
        settings->logging = update->logging;
    if (update->hour_metrics.is_set)
        settings->hour_metrics = update->hour_metrics;
    if (update->minute_metrics.is_set)
        settings->minute_metrics = update->minute_metrics;
    if (update->cors.is_set)
        settings->cors = update->cors;
    if (update->default_version.data)
        settings->default_version = update->default_version;
}

/* --- reading: values --- */

static tv_err read_bool(const tv_xml_node *parent, tv_slice name, bool *ret_value)
{
    const tv_xml_node *node = tv_xml_child(parent, name);

    if (node == NULL)
        return TV_ERR_XML_DOCUMENT;

    tv_slice word = tv_xml_word(node);
    bool is_true = tv_slice_eq_nocase(word, TV_LIT("true"));

    if (!is_true && !tv_slice_eq_nocase(word, TV_LIT("false")))
        return TV_ERR_XML_NODE_VALUE;

    *ret_value = is_true;
    return TV_OK;
}

static tv_err read_int32(const tv_xml_node *parent, tv_slice name, int32_t *ret_value)
{
    const tv_xml_node *node = tv_xml_child(parent, name);

    if (node == NULL)
        return TV_ERR_XML_DOCUMENT;
    return tv_parse_int32(tv_xml_word(node), ret_value) ? TV_OK : TV_ERR_XML_NODE_VALUE;
}

static tv_err check_version(const tv_xml_node *parent)
{
    const tv_xml_node *node = tv_xml_child(parent, TV_LIT("Version"));

    if (node == NULL)
        return TV_ERR_XML_DOCUMENT;
    return tv_slice_eq(tv_xml_word(node), version) ? TV_OK : TV_ERR_XML_NODE_VALUE;
}

/* Whether the children of a node are those of a list of names, each at most once. */
static bool has_only(const tv_xml_node *node, tv_slice names)
{
    for (const tv_xml_node *child = node->first_child; child; child = child->next) {
        tv_slice rest = names, name = TV_NONE;

        if (tv_xml_child(node, child->name) != child)
            return false;
        while (tv_slice_next(&rest, ' ', &name) && !tv_slice_eq(name, child->name))
            name = TV_NONE;
        if (name.data == NULL)
            return false;
    }
    return tv_xml_word(node).len == 0;
}

/* --- reading: logging and metrics --- */

/* The days of a policy that is off do not count. */
static tv_err read_retention(const tv_xml_node *parent, tv_retention *ret_retention)
{
    const tv_xml_node *node = tv_xml_child(parent, TV_LIT("RetentionPolicy"));
    tv_retention retention = {.is_enabled = false};
    tv_err err;

    if (node == NULL || !has_only(node, TV_LIT("Enabled Days")))
        return TV_ERR_XML_DOCUMENT;

    err = read_bool(node, TV_LIT("Enabled"), &retention.is_enabled);
    if (err)
        return err;

    if (retention.is_enabled) {
        err = read_int32(node, TV_LIT("Days"), &retention.days);
        if (err)
            return err;
        if (retention.days < 1 || retention.days > TV_RETENTION_DAYS_MAX)
            return TV_ERR_XML_DOCUMENT;
    }
    *ret_retention = retention;
    return TV_OK;
}

static tv_err read_logging(tv_service_kind service, const tv_xml_node *node,
                           tv_logging_settings *ret_logging)
{
    const tv_xml_node *version_node = tv_xml_child(node, TV_LIT("Version"));
    tv_logging_settings logging = {.is_set = true};
    tv_err err;

    if (!has_only(node, TV_LIT("Version Read Write Delete RetentionPolicy")))
        return TV_ERR_XML_DOCUMENT;

    logging.is_version_2 = service != TV_SERVICE_TABLE && version_node &&
                           tv_slice_eq(tv_xml_word(version_node), version_2);
    err = logging.is_version_2 ? TV_OK : check_version(node);
    if (err == TV_OK)
        err = read_bool(node, TV_LIT("Read"), &logging.reads);
    if (err == TV_OK)
        err = read_bool(node, TV_LIT("Write"), &logging.writes);
    if (err == TV_OK)
        err = read_bool(node, TV_LIT("Delete"), &logging.deletes);
    if (err == TV_OK)
        err = read_retention(node, &logging.retention);
    if (err)
        return err;

    *ret_logging = logging;
    return TV_OK;
}

static tv_err read_metrics(const tv_xml_node *node, tv_metrics_settings *ret_metrics)
{
    tv_metrics_settings metrics = {.is_set = true};
    tv_err err;

    if (!has_only(node, TV_LIT("Version Enabled IncludeAPIs RetentionPolicy")))
        return TV_ERR_XML_DOCUMENT;

    err = check_version(node);
    if (err == TV_OK)
        err = read_bool(node, TV_LIT("Enabled"), &metrics.is_enabled);
    if (err == TV_OK && metrics.is_enabled)
        err = read_bool(node, TV_LIT("IncludeAPIs"), &metrics.includes_apis);
    if (err == TV_OK)
        err = read_retention(node, &metrics.retention);
    if (err)
        return err;

    *ret_metrics = metrics;
    return TV_OK;
}

/* --- reading: CORS --- */

static bool is_prefix(tv_slice item)
{
    return item.len && item.data[item.len - 1] == '*';
}

static bool is_header(tv_slice item)
{
    tv_slice name = is_prefix(item) ? tv_slice_take(item, item.len - 1) : item;

    /* A star is only one at the end, though names of headers might have it anywhere. */
    return (name.len == 0 && item.len) ||
           (tv_is_token(name) && tv_slice_find(name, '*') == name.len);
}

/* One origin; browsers write them in ASCII. */
static bool is_origin(tv_slice item)
{
    return item.len && tv_slice_is_printable(item) && tv_slice_find(item, ' ') == item.len;
}

static bool is_method(tv_slice item)
{
    return tv_method_parse(item) != TV_METHOD_OTHER;
}

typedef struct list_form {
    bool (*is_item)(tv_slice item);
    bool (*is_last)(tv_slice item); /* items that are moved after the others; or NULL */
    size_t items_max, last_max;
    bool may_be_empty;
} list_form;

/* Append the items of a list for which is_last is `last`. */
static tv_err add_items(tv_buf *buf, tv_slice list, const list_form *form, bool last,
                        size_t count_max)
{
    size_t count = 0;
    tv_slice item;

    while (tv_slice_next(&list, ',', &item)) {
        item = tv_slice_trim(item);
        if (!form->is_item(item) || item.len > TV_CORS_ITEM_CHARS_MAX)
            return TV_ERR_XML_NODE_VALUE;
        if ((form->is_last && form->is_last(item)) != last)
            continue;
        if (++count > count_max)
            return TV_ERR_XML_DOCUMENT;
        if (buf->len)
            tv_buf_add_char(buf, ',');
        tv_buf_add(buf, item);
    }
    return TV_OK;
}

/* A list of items with commas, put into its order, without blanks. */
static tv_err read_list(tv_arena *arena, const tv_xml_node *parent, tv_slice name,
                        const list_form *form, tv_slice *ret_list)
{
    const tv_xml_node *node = tv_xml_child(parent, name);
    tv_buf buf = TV_BUF_EMPTY;
    tv_err err;

    if (node == NULL || node->first_child)
        return TV_ERR_XML_DOCUMENT;

    tv_slice list = tv_xml_word(node);

    if (list.len == 0) {
        *ret_list = TV_LIT("");
        return form->may_be_empty ? TV_OK : TV_ERR_XML_NODE_VALUE;
    }
    err = add_items(&buf, list, form, false, form->items_max);
    if (err == TV_OK)
        err = add_items(&buf, list, form, true, form->last_max);
    if (err == TV_OK)
        *ret_list = tv_arena_dup(arena, tv_buf_slice(&buf));
    tv_buf_done(&buf);
    return err;
}

static tv_err read_rule(tv_arena *arena, const tv_xml_node *node, tv_cors_rule *rule)
{
    static const list_form methods = {.is_item = is_method, .items_max = TV_METHOD_OTHER};
    static const list_form origins = {.is_item = is_origin, .items_max = TV_CORS_ORIGINS_MAX};
    static const list_form headers = {.is_item = is_header,
                                      .is_last = is_prefix,
                                      .items_max = TV_CORS_HEADERS_MAX,
                                      .last_max = TV_CORS_PREFIXES_MAX,
                                      .may_be_empty = true};
    tv_err err;

    if (!tv_slice_eq(node->name, TV_LIT("CorsRule")) ||
        !has_only(node, TV_LIT("AllowedMethods AllowedOrigins AllowedHeaders ExposedHeaders "
                               "MaxAgeInSeconds")))
        return TV_ERR_XML_DOCUMENT;

    err = read_list(arena, node, TV_LIT("AllowedMethods"), &methods, &rule->methods);
    if (err == TV_OK)
        err = read_list(arena, node, TV_LIT("AllowedOrigins"), &origins, &rule->origins);
    if (err == TV_OK)
        err = read_list(arena, node, TV_LIT("AllowedHeaders"), &headers, &rule->allowed_headers);
    if (err == TV_OK)
        err = read_list(arena, node, TV_LIT("ExposedHeaders"), &headers, &rule->exposed_headers);
    if (err == TV_OK)
        err = read_int32(node, TV_LIT("MaxAgeInSeconds"), &rule->max_age_seconds);
    if (err == TV_OK && rule->max_age_seconds < 0)
        err = TV_ERR_XML_NODE_VALUE;
    return err;
}

static size_t rule_bytes(const tv_cors_rule *rule)
{
    char age[TV_INT64_TEXT_MAX];

    return rule->methods.len + rule->origins.len + rule->allowed_headers.len +
           rule->exposed_headers.len + tv_format_int64(age, rule->max_age_seconds);
}

static tv_err read_cors(tv_arena *arena, const tv_xml_node *node, tv_cors_settings *ret_cors)
{
    tv_cors_settings cors = {.is_set = true};
    size_t bytes = 0;
    tv_err err;

    if (node->child_count > TV_CORS_RULES_MAX || tv_xml_word(node).len)
        return TV_ERR_XML_DOCUMENT;

    for (const tv_xml_node *child = node->first_child; child; child = child->next) {
        tv_cors_rule *rule = &cors.rules[cors.count++];

        err = read_rule(arena, child, rule);
        if (err)
            return err;
        bytes += rule_bytes(rule);
    }
    if (bytes > TV_CORS_BYTES_MAX)
        return TV_ERR_XML_DOCUMENT;

    *ret_cors = cors;
    return TV_OK;
}

/* --- reading: what only blob services have --- */

static tv_err read_default_version(const tv_xml_node *node, tv_slice *ret_version)
{
    tv_slice word = tv_xml_word(node);

    if (word.len && !tv_version_is_valid(word))
        return TV_ERR_XML_NODE_VALUE;

    *ret_version = word.len ? word : TV_LIT("");
    return TV_OK;
}

/* A feature that is not there may be switched off. */
static tv_err read_missing_feature(const tv_xml_node *node, tv_error_info *reterr_info)
{
    bool is_enabled = false;
    tv_err err = read_bool(node, TV_LIT("Enabled"), &is_enabled);

    if (err || !is_enabled)
        return err;

    reterr_info->text =
        tv_slice_eq(node->name, TV_LIT("StaticWebsite"))
            ? TV_LIT("Static websites (StaticWebsite) are not supported by this server.")
            : TV_LIT("Soft delete (DeleteRetentionPolicy) is not supported by this server.");
    return TV_ERR_NOT_IMPLEMENTED;
}

/* --- reading: the document --- */

static tv_err read_part(tv_arena *arena, tv_service_kind service, const tv_xml_node *node,
                        tv_service_settings *settings, tv_error_info *reterr_info)
{
    if (tv_slice_eq(node->name, TV_LIT("Logging")))
        return read_logging(service, node, &settings->logging);
    if (tv_slice_eq(node->name, TV_LIT("HourMetrics")))
        return read_metrics(node, &settings->hour_metrics);
    if (tv_slice_eq(node->name, TV_LIT("MinuteMetrics")))
        return read_metrics(node, &settings->minute_metrics);
    if (tv_slice_eq(node->name, TV_LIT("Cors")))
        return read_cors(arena, node, &settings->cors);
    if (tv_slice_eq(node->name, TV_LIT("DefaultServiceVersion")))
        return read_default_version(node, &settings->default_version);
    return read_missing_feature(node, reterr_info);
}

tv_err tv_settings_parse(tv_arena *arena, tv_service_kind service, tv_slice document,
                         tv_service_settings *ret_settings, tv_error_info *reterr_info)
{
    tv_slice parts = service == TV_SERVICE_BLOB
                         ? TV_LIT("Logging HourMetrics MinuteMetrics Cors DefaultServiceVersion "
                                  "DeleteRetentionPolicy StaticWebsite")
                         : TV_LIT("Logging HourMetrics MinuteMetrics Cors");
    tv_service_settings settings = {.logging = {.is_set = false}};
    const tv_xml_node *root;
    tv_err err;

    err = tv_xml_parse(arena, document, &root);
    if (err)
        return err;
    if (!tv_slice_eq(root->name, TV_LIT("StorageServiceProperties")) || !has_only(root, parts))
        return TV_ERR_XML_DOCUMENT;

    for (const tv_xml_node *node = root->first_child; node && err == TV_OK; node = node->next)
        err = read_part(arena, service, node, &settings, reterr_info);
    if (err)
        return err;

    *ret_settings = settings;
    return TV_OK;
}

/* --- writing --- */

static void add_bool(tv_buf *buf, const char *name, bool value)
{
    tv_buf_printf(buf, "<%s>%s</%s>", name, value ? "true" : "false", name);
}

static void add_retention(tv_buf *buf, const tv_retention *retention)
{
    tv_buf_add_lit(buf, "<RetentionPolicy>");
    add_bool(buf, "Enabled", retention->is_enabled);
    if (retention->is_enabled)
        tv_buf_printf(buf, "<Days>%d</Days>", (int)retention->days);
    tv_buf_add_lit(buf, "</RetentionPolicy>");
}

static void add_logging(tv_buf *buf, const tv_logging_settings *logging)
{
    tv_buf_add_lit(buf, "<Logging>");
    tv_xml_add_element(buf, "Version", logging->is_version_2 ? version_2 : version);
    add_bool(buf, "Read", logging->reads);
    add_bool(buf, "Write", logging->writes);
    add_bool(buf, "Delete", logging->deletes);
    add_retention(buf, &logging->retention);
    tv_buf_add_lit(buf, "</Logging>");
}

static void add_metrics(tv_buf *buf, const char *name, const tv_metrics_settings *metrics)
{
    tv_buf_printf(buf, "<%s>", name);
    tv_xml_add_element(buf, "Version", version);
    add_bool(buf, "Enabled", metrics->is_enabled);
    if (metrics->is_enabled)
        add_bool(buf, "IncludeAPIs", metrics->includes_apis);
    add_retention(buf, &metrics->retention);
    tv_buf_printf(buf, "</%s>", name);
}

static void add_cors(tv_buf *buf, const tv_cors_settings *cors)
{
    if (cors->count == 0) {
        tv_buf_add_lit(buf, "<Cors />");
        return;
    }
    tv_buf_add_lit(buf, "<Cors>");
    for (size_t i = 0; i < cors->count; i++) {
        const tv_cors_rule *rule = &cors->rules[i];

        tv_buf_add_lit(buf, "<CorsRule>");
        tv_xml_add_element(buf, "AllowedMethods", rule->methods);
        tv_xml_add_element(buf, "AllowedOrigins", rule->origins);
        tv_xml_add_element(buf, "AllowedHeaders", rule->allowed_headers);
        tv_xml_add_element(buf, "ExposedHeaders", rule->exposed_headers);
        tv_buf_printf(buf, "<MaxAgeInSeconds>%d</MaxAgeInSeconds></CorsRule>",
                      (int)rule->max_age_seconds);
    }
    tv_buf_add_lit(buf, "</Cors>");
}

void tv_settings_add_xml(tv_buf *buf, tv_service_kind service, const tv_service_settings *settings)
{
    tv_buf_add_lit(buf, "<StorageServiceProperties>");
    add_logging(buf, &settings->logging);
    add_metrics(buf, "HourMetrics", &settings->hour_metrics);
    add_metrics(buf, "MinuteMetrics", &settings->minute_metrics);
    add_cors(buf, &settings->cors);
    if (settings->default_version.len)
        tv_xml_add_element(buf, "DefaultServiceVersion", settings->default_version);
    if (service == TV_SERVICE_BLOB)
        tv_buf_add_lit(buf, "<DeleteRetentionPolicy><Enabled>false</Enabled>"
                            "</DeleteRetentionPolicy><StaticWebsite><Enabled>false</Enabled>"
                            "</StaticWebsite>");
    tv_buf_add_lit(buf, "</StorageServiceProperties>");
}

bool tv_settings_has_analytics(const tv_service_settings *settings)
{
    const tv_logging_settings *logging = &settings->logging;
    const tv_metrics_settings *hour = &settings->hour_metrics, *minute = &settings->minute_metrics;

    return logging->reads || logging->writes || logging->deletes || logging->retention.is_enabled ||
           hour->is_enabled || hour->retention.is_enabled || minute->is_enabled ||
           minute->retention.is_enabled;
}

/* --- shared --- */

tv_err tv_shared_settings_new(tv_service_kind service, tv_slice document,
                              tv_shared_settings **ret_shared)
{
    tv_shared_settings *shared = tv_calloc(1, sizeof *shared);

    atomic_init(&shared->refs, 1);
    tv_arena_init(&shared->arena);
    shared->document = tv_arena_dup(&shared->arena, document);
    if (tv_settings_parse(&shared->arena, service, document, &shared->settings,
                          &(tv_error_info){0})) {
        tv_shared_settings_unref(shared);
        return TV_ERR_CORRUPT;
    }

    *ret_shared = shared;
    return TV_OK;
}

tv_shared_settings *tv_shared_settings_ref(tv_shared_settings *shared)
{
    atomic_fetch_add_explicit(&shared->refs, 1, memory_order_relaxed);
    return shared;
}

void tv_shared_settings_unref(tv_shared_settings *shared)
{
    if (shared && atomic_fetch_sub_explicit(&shared->refs, 1, memory_order_acq_rel) == 1) {
        tv_arena_done(&shared->arena);
        free(shared);
    }
}
