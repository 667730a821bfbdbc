/* Prints the tables of the readers, a line an element or attribute, for scripts/gen_formats_doc.py:
 *
 *   format  depth  element  attribute  handling  note         separated by tabs; attribute "" is the element itself */
#include <stdio.h>
#include <string.h>

#include "read/table.h"
#include "read/urdf/urdf.h"

static const char *const handlings[] = {
    [TG_TABLE_HONOURED] = "honoured", [TG_TABLE_APPROXIMATED] = "approximated", [TG_TABLE_IGNORED] = "ignored physics",
    [TG_TABLE_NOTED] = "noted",       [TG_TABLE_QUIET] = "no effect",           [TG_TABLE_UNSUPPORTED] = "refused",
};

static void print_line(const char *format, const tg_table_row *row, const char *attribute, tg_table_handling handling,
                       const char *note)
{
    printf("%s\t%d\t%s\t%s\t%s\t%s\n", format, row->depth, row->name, attribute, handlings[handling],
           note != NULL ? note : "");
}

/* Further names are handled as their element; those of an element that is read have no effect. */
static void print_names(const char *format, const tg_table_row *row)
{
    tg_table_handling handling = row->handling == TG_TABLE_HONOURED ? TG_TABLE_QUIET : row->handling;
    const char *list = row->names != NULL ? row->names : "";
    while (*list != '\0')
    {
        char name[64];
        size_t n = strcspn(list, " ");
        snprintf(name, sizeof name, "%.*s", (int)n, list);
        print_line(format, row, name, handling, "");
        list += n + (list[n] == ' ' ? 1 : 0);
    }
}

static void print_rows(const char *format, const tg_table_row *rows)
{
    for (int i = 0; rows[i].name != NULL; i++)
    {
        const tg_table_row *row = &rows[i];
        print_line(format, row, "", row->handling, row->note);
        for (int s = 0; s < TG_TABLE_SETS && row->set[s] != NULL; s++)
        {
            for (const tg_table_attribute *a = row->set[s]; a->name != NULL; a++)
                print_line(format, row, a->name, row->handling == TG_TABLE_HONOURED ? a->handling : row->handling,
                           a->note);
        }
        print_names(format, row);
    }
}

int main(void)
{
    print_rows("MJCF", tg_mjcf_rows());
    print_rows("URDF", tg_urdf_rows());
    print_rows("SRDF", tg_srdf_rows());
    return 0;
}
