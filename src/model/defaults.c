#include "model/builder.h"

tg_body_def tg_default_body(void)
{
    return (tg_body_def){.quat = {1, 0, 0, 0}, .cookie = tg_cookie(TG_BODY)};
}

tg_joint_def tg_default_joint(void)
{
    return (tg_joint_def){.type = TG_JOINT_HINGE, .axis = {0, 0, 1}, .cookie = tg_cookie(TG_JOINT)};
}

tg_geom_def tg_default_geom(void)
{
    return (tg_geom_def){
        .type = TG_GEOM_SPHERE,
        .quat = {1, 0, 0, 0},
        .mesh = -1,
        .hfield = -1,
        .mass = -1,
        .density = 1000,
        .contype = 1,
        .conaffinity = 1,
        .condim = 3,
        .friction = {1, 0.005, 0.0001},
        .kinetic = 1,
        .slip_speed = 0.001,
        .rgba = {0.5, 0.5, 0.5, 1}, /* as in MJCF */
        .cookie = tg_cookie(TG_GEOM),
    };
}

tg_mesh_def tg_default_mesh(void)
{
    return (tg_mesh_def){.cookie = tg_cookie(TG_MESH)};
}

tg_hfield_def tg_default_hfield(void)
{
    return (tg_hfield_def){.size = {1, 1, 1, 1}, .cookie = tg_cookie(TG_HFIELD)};
}

tg_site_def tg_default_site(void)
{
    return (tg_site_def){.quat = {1, 0, 0, 0}, .cookie = tg_cookie(TG_SITE)};
}

tg_tendon_def tg_default_tendon(void)
{
    return (tg_tendon_def){.type = TG_TENDON_SPATIAL, .rest = {-1, -1}, .cookie = tg_cookie(TG_TENDON)};
}

tg_actuator_def tg_default_actuator(void)
{
    return (tg_actuator_def){
        .transmission = TG_TRANSMISSION_JOINT,
        .gear = {1},
        .gain = {1},
        .dynamics = TG_DYNAMICS_NONE,
        .tau = 1,
        .cookie = tg_cookie(TG_ACTUATOR),
    };
}

tg_equality_def tg_default_equality(void)
{
    return (tg_equality_def){.type = TG_EQUALITY_CONNECT, .obj2 = -1, .active = true, .cookie = tg_cookie(TG_EQUALITY)};
}

tg_pair_def tg_default_pair(void)
{
    return (tg_pair_def){
        .condim = 3,
        .friction = {1, 0.005, 0.0001},
        .kinetic = 1,
        .slip_speed = 0.001,
        .cookie = tg_cookie(TG_PAIR),
    };
}

tg_exclude_def tg_default_exclude(void)
{
    return (tg_exclude_def){.geom1 = -1, .geom2 = -1, .cookie = tg_cookie(TG_EXCLUDE)};
}

tg_key_def tg_default_key(void)
{
    return (tg_key_def){.cookie = tg_cookie(TG_KEY)};
}

tg_visual_def tg_default_visual(void)
{
    return (tg_visual_def){.type = TG_GEOM_SPHERE,
                           .quat = {1, 0, 0, 0},
                           .size = {1, 1, 1},
                           .rgba = {0.5, 0.5, 0.5, 1},
                           .cookie = tg_cookie(TG_ELEMENT_COUNT)};
}
