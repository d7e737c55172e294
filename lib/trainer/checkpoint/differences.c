/* What a refused resume says: settings by the words that JSON has for them, in place of the numbers
 * that checkpoints store. */
#include "base/numbers/digits.h"
#include "trainer/checkpoint/checkpoint.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* The field of a configuration that an entry stores; NULL if it stores something else. */
static const sv_field *field_of(const sv_trainer_entry *entry)
{
    static const char RULE[] = "optimizer.";
    const char *name = strchr(entry->key, '.') + 1;
    if (strncmp(name, RULE, strlen(RULE)) == 0)
        return sv_fields_find_member(&sv_optimizer_config_type.table, name + strlen(RULE));
    return sv_fields_find_member(&sv_trainer_config_type.table, name);
}

/* The word of a field for its value; NULL if it has none. */
static const char *word_of(const sv_field *field, uint64_t value)
{
    return field && field->kind == SV_FIELD_WORD && value < sv_field_word_count(field)
               ? field->words[value]
               : NULL;
}

/* The words of a set of them. */
static const char *set_text(char out[SV_TRAINER_NUMBER], const sv_field *field, uint64_t set)
{
    size_t used = 0;
    snprintf(out, SV_TRAINER_NUMBER, "empty");
    for (uint32_t i = 0; i < sv_field_word_count(field) && used < SV_TRAINER_NUMBER; i++)
        if (set >> i & 1)
            used += (size_t)snprintf(out + used, SV_TRAINER_NUMBER - used, used ? "+%s" : "%s",
                                     field->words[i]);
    return out;
}

/* Returns the value of an entry as a message shows it: words, and real numbers in decimal. */
static const char *readable(char out[SV_TRAINER_NUMBER], const sv_trainer_entry *entry,
                            const char *text)
{
    if (entry->kind == SV_ENTRY_F64) {
        uint64_t bits;
        double value;
        if (!sv_trainer_read_digits(&bits, text, 16))
            return text;
        memcpy(&value, &bits, sizeof value);
        return sv_trainer_number(out, value);
    }
    uint64_t value;
    const sv_field *field = field_of(entry);
    if (!sv_trainer_read_digits(&value, text, 10))
        return text;
    if (field && field->kind == SV_FIELD_SET)
        return set_text(out, field, value);
    const char *word = word_of(field, value);
    return word ? word : text;
}

/* What a resumed run needs of a setting whose saved value is `saved`. */
static const char *needed(const sv_trainer_entry *entry, const char *saved)
{
    if (entry->change != SV_CHANGE_LATER)
        return "the same";
    if (entry->offset == offsetof(svit_trainer, config.epochs))
        return "as many or more";
    return strcmp(saved, "0") == 0 ? "0, which never stops; with more epochs, any"
                                   : "as many or more, or 0; with more epochs, any";
}

svit_status sv_trainer_setting_differs(const sv_trainer_entry *entry, const char *saved,
                                       const char *present, svit_error *err)
{
    const bool is_training = entry->offset == offsetof(svit_trainer, training_fingerprint) ||
                             entry->offset == offsetof(svit_trainer, training_count);
    const sv_field *field = field_of(entry);
    char a[SV_TRAINER_NUMBER], b[SV_TRAINER_NUMBER];
    if (field)
        return sv_fail(err, SVIT_E_ARGUMENT,
                       "%s is %.24s in the checkpoint and %s here; a resumed run needs %s",
                       sv_field_key(field), readable(a, entry, saved), readable(b, entry, present),
                       needed(entry, saved));
    return sv_fail(err, SVIT_E_ARGUMENT,
                   "the %s data are others than the checkpoint's, in number, images or split; a "
                   "resumed run needs the same",
                   is_training ? "training" : "validation");
}

/* Writes the text of an objective with words for loss, sampling and test-time augmentation; one of
 * another form stays as it is. */
static void objective_words(char out[SV_TRAINER_OBJECTIVE], const char *text)
{
    static const char NAMES[][9] = {"loss", "sampling", "tta"};
    const char *words[3], *rest[3], *at = text;
    bool is_known = true;
    for (size_t i = 0; i < 3 && is_known; i++) {
        at = strstr(at, NAMES[i]);
        uint64_t value = 0;
        const char *number = at ? at + strlen(NAMES[i]) : "";
        const char *end = sv_digits_read(&value, number + (*number == ' '), 10);
        words[i] = word_of(sv_fields_find_member(&sv_trainer_config_type.table, NAMES[i]), value);
        is_known = at && end && words[i];
        rest[i] = at = end;
    }
    if (!is_known) {
        snprintf(out, SV_TRAINER_OBJECTIVE, "%s", text);
        return;
    }
    const int by_function = (int)strcspn(rest[0], ",");
    snprintf(out, SV_TRAINER_OBJECTIVE, "loss %s%.*s, sampling %s, tta %s%s", words[0], by_function,
             rest[0], words[1], words[2], rest[2]);
}

svit_status sv_trainer_objective_differs(const char *saved, const char *present, svit_error *err)
{
    enum { BEFORE = 20, MOST = 80 };
    char a[SV_TRAINER_OBJECTIVE], b[SV_TRAINER_OBJECTIVE];
    objective_words(a, saved);
    objective_words(b, present);
    size_t same = 0;
    while (a[same] && a[same] == b[same])
        same++;
    /* Of long texts it has what begins a little before they differ. */
    const size_t from = same > MOST - BEFORE ? same - BEFORE : 0;
    const char *dots = from > 0 ? "..." : "";
    return sv_fail(err, SVIT_E_ARGUMENT,
                   "the checkpoint's run has '%s%.*s', this one '%s%.*s'; a resumed run needs the "
                   "same",
                   dots, MOST, a + from, dots, MOST, b + from);
}
