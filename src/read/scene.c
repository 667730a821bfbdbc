/* Scenes from files. */
#include "model/builder.h"
#include "tangere/read.h"

tg_status tg_scene_add(tg_scene *s, const char *path, const tg_load_options *options, const tg_attach_def *def)
{
    tg_model *m = NULL;
    if (s == NULL)
        return TG_ERR_ARGUMENT;
    tg_status status = tg_load(path, options, &m, &tg_scene_builder(s)->error);
    if (status != TG_OK)
        return status;
    tg_attach_def labelled = def != NULL ? *def : (tg_attach_def){0}; /* which is refused */
    labelled.label = labelled.label != NULL ? labelled.label : path;
    status = tg_scene_add_model(s, m, NULL, &labelled);
    tg_model_destroy(m);
    return status;
}
