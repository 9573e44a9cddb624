/* D01 to D03: entities and values near their limits, and types that differ. */
#include <math.h>

#include "insight/advice/judging.h"
#include "model/odata/edm.h"

enum { PROPERTIES_LIMIT = 252, ENTITY_KIB_LIMIT = 1024 };

/* Parts that tavola_wide_put makes end with ~ and a digit; they are full on purpose. */
static bool is_wide_part(tv_slice row_key)
{
    size_t end = row_key.len;

    while (end && row_key.data[end - 1] >= '0' && row_key.data[end - 1] <= '9')
        end--;
    return end < row_key.len && end > 0 && row_key.data[end - 1] == '~';
}

static bool width_of(const tv_judging *j, const tv_evidence_extremes *extremes, double properties,
                     double kib, tv_severity *ret_severity)
{
    if (extremes->refused_properties || extremes->refused_entity)
        *ret_severity = TV_SEVERITY_ERROR;
    else if (properties >= TV_THRESHOLD(j, D01, warning_properties) ||
             kib >= TV_THRESHOLD(j, D01, warning_kib))
        *ret_severity = TV_SEVERITY_WARNING;
    else if (properties >= TV_THRESHOLD(j, D01, info_properties) ||
             kib >= TV_THRESHOLD(j, D01, info_kib))
        *ret_severity = TV_SEVERITY_INFO;
    else
        return false;
    return true;
}

void tv_judge_wide_entity(tv_judging *j)
{
    const tv_evidence_extremes *extremes = &j->table->extremes;
    double properties =
        is_wide_part(extremes->properties_key.row_key) ? 0 : extremes->properties_max;
    double kib = is_wide_part(extremes->cost_key.row_key) ? 0 : (double)extremes->cost_max / 1024;
    bool is_by_count = properties / PROPERTIES_LIMIT >= kib / ENTITY_KIB_LIMIT;
    const tv_evidence_key *key = is_by_count ? &extremes->properties_key : &extremes->cost_key;
    tv_severity severity;
    tv_finding *finding;

    if (!width_of(j, extremes, properties, kib, &severity))
        return;
    finding = tv_find(j, TV_RULE_D01, severity, TV_CONFIDENCE_CERTAIN);
    if (extremes->refused_properties || extremes->refused_entity)
        finding->title = TV_LIT("Entities are refused because they are over a limit");
    else
        tv_find_title(
            j, finding, "limit",
            is_by_count
                ? tv_arena_printf(j->arena, "%.0f of %d properties", properties, PROPERTIES_LIMIT)
                : tv_arena_printf(j->arena, "%.0f of %d KiB", kib, ENTITY_KIB_LIMIT));
    if (key->partition_key.len || key->row_key.len) {
        tv_slice both[2] = {key->partition_key, key->row_key};

        tv_find_keys(finding, "key", both, 2);
    }
    tv_find_number(finding, "properties", properties);
    tv_find_number(finding, "kib", kib);
    tv_find_number(finding, "refused",
                   (double)(extremes->refused_properties + extremes->refused_entity));
    TV_COMPARED(j, finding, D01, info_properties);
    TV_COMPARED(j, finding, D01, warning_properties);
    TV_COMPARED(j, finding, D01, info_kib);
    TV_COMPARED(j, finding, D01, warning_kib);
}

/* Values that spill over into Name_1, Name_2 are cut at the limit on purpose. */
static bool spills(const tv_judging *j, tv_slice name)
{
    size_t end = name.len;

    while (end && name.data[end - 1] >= '0' && name.data[end - 1] <= '9')
        end--;
    if (end < name.len && end > 1 && name.data[end - 1] == '_')
        return true;
    for (size_t i = 0; i < j->table->property_count; i++) {
        tv_slice other = j->table->properties[i].name;

        if (other.len == name.len + 2 && tv_slice_starts_with(other, name) &&
            tv_slice_eq(tv_slice_skip(other, name.len), TV_LIT("_1")))
            return true;
    }
    return false;
}

void tv_judge_long_value(tv_judging *j)
{
    const tv_evidence_extremes *extremes = &j->table->extremes;
    double units = spills(j, extremes->string_property) ? 0 : extremes->string_units_max;
    double bytes = spills(j, extremes->binary_property) ? 0 : extremes->binary_bytes_max;
    bool is_string = units * 2 >= bytes;
    tv_slice property = is_string ? extremes->string_property : extremes->binary_property;
    tv_severity severity;
    tv_finding *finding;

    if (extremes->refused_value)
        severity = TV_SEVERITY_ERROR;
    else if (units >= TV_THRESHOLD(j, D02, warning_units) ||
             bytes >= TV_THRESHOLD(j, D02, warning_bytes))
        severity = TV_SEVERITY_WARNING;
    else if (units >= TV_THRESHOLD(j, D02, info_units) || bytes >= TV_THRESHOLD(j, D02, info_bytes))
        severity = TV_SEVERITY_INFO;
    else
        return;
    finding = tv_find(j, TV_RULE_D02, severity, TV_CONFIDENCE_CERTAIN);
    tv_find_on_name(j, finding, TV_SUBJECT_PROPERTY, property);
    if (extremes->refused_value)
        finding->title = TV_LIT("Values are refused because they are over 64 KiB");
    tv_find_text(finding, "property", property);
    tv_find_number(finding, is_string ? "longestUnits" : "longestBytes", is_string ? units : bytes);
    tv_find_number(finding, "count",
                   (double)(is_string ? extremes->string_count : extremes->binary_count));
    tv_find_number(finding, "refused", (double)extremes->refused_value);
    TV_COMPARED(j, finding, D02, info_units);
    TV_COMPARED(j, finding, D02, warning_units);
    TV_COMPARED(j, finding, D02, info_bytes);
    TV_COMPARED(j, finding, D02, warning_bytes);
}

void tv_judge_type_drift(tv_judging *j, const tv_evidence_property *property)
{
    int most = TV_EDM_STRING, second = 0;
    uint64_t minority;
    tv_slice types[TV_EVIDENCE_TYPES], filters[4], names;
    size_t type_count = 0, filter_count = 0;
    tv_finding *finding;

    for (int type = TV_EDM_STRING; type < TV_EVIDENCE_TYPES; type++) {
        if (property->types[type] > property->types[most])
            most = type;
    }
    for (int type = TV_EDM_STRING; type < TV_EVIDENCE_TYPES; type++) {
        if (type != most && property->types[type] &&
            (!second || property->types[type] > property->types[second]))
            second = type;
    }
    minority = property->count - property->types[most];
    if (!second || (double)minority < TV_THRESHOLD(j, D03, minority) ||
        (double)minority < TV_THRESHOLD(j, D03, minority_share) * (double)property->count)
        return;
    for (size_t i = 0; i < j->table->shape_count && filter_count < 4; i++) {
        if (tv_shape_view_compares(j->views[i], property->name))
            filters[filter_count++] = j->table->shapes[i].text;
    }
    finding =
        tv_find(j, TV_RULE_D03,
                filter_count && !property->types_by_class ? TV_SEVERITY_WARNING : TV_SEVERITY_INFO,
                TV_CONFIDENCE_HIGH);
    tv_find_on_name(j, finding, TV_SUBJECT_PROPERTY, property->name);
    names = tv_arena_printf(j->arena, "%.*s and as %.*s",
                            TV_FMT(tv_slice_skip(tv_edm_name((tv_edm_type)most), 4)),
                            TV_FMT(tv_slice_skip(tv_edm_name((tv_edm_type)second), 4)));
    tv_find_title(j, finding, "property", property->name);
    tv_find_title(j, finding, "types", names);
    for (int type = TV_EDM_STRING; type < TV_EVIDENCE_TYPES; type++) {
        if (property->types[type] && type_count < TV_FIELD_TEXTS_MAX)
            types[type_count++] =
                tv_arena_printf(j->arena, "%.*s: %llu", TV_FMT(tv_edm_name((tv_edm_type)type)),
                                (unsigned long long)property->types[type]);
    }
    tv_find_number(finding, "values", (double)property->count);
    tv_find_texts(finding, "types", types, type_count);
    tv_find_text(finding, "mostly", tv_edm_name((tv_edm_type)most));
    tv_find_texts(finding, "filters", filters, filter_count);
    tv_find_number(finding, "missedShare", tv_ratio((double)minority, (double)property->count));
    TV_COMPARED(j, finding, D03, minority_share);
    TV_COMPARED(j, finding, D03, minority);
}
