"""The MJCF reader against MuJoCo: one small file a rule, everything that both keep compared."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
import tangere as tg
from mujoco_compare import check, compare, compare_actuators, compare_motion, load_both, moving, world

# ---- the cases ----

BALL = '<geom size="0.1"/>'
ARM = world(
    '<body name="a"><joint name="j" range="-60 90"/><geom name="ga" size="0.1"/><site name="s" pos="0.1 0 0" '
    'euler="9 8 7"/>'
    '<body name="b" pos="0 0.3 0"><joint name="k" type="slide" axis="0 1 1" range="-0.2 0.4"/>'
    '<geom name="gb" size="0.05 0.1" type="capsule" pos="0 0.2 0"/><site name="t" pos="0 0.1 0.2" quat="1 2 3 4"/>'
    '<body name="c" pos="0 0 0.4"><joint name="l" type="ball"/><geom name="gc" size="0.1" pos="0.1 0 '
    '0"/></body></body></body>'
    '<body name="f" pos="1 0 1"><freejoint name="free"/><geom name="gf" type="box" size="0.1 0.2 0.3"/>'
    '<site name="u" pos="0 0 0.3" zaxis="1 1 0"/></body>',
    after="%s",
)
TETRA = 'vertex="0 0 0  1 0 0  0 1 0  0 0 1" face="0 2 1  0 1 3  0 3 2  1 2 3"'
# an L: not convex, so that convex, exact and legacy inertia differ
ELL = (
    'vertex="0 0 0  2 0 0  2 1 0  1 1 0  1 2 0  0 2 0  0 0 1  2 0 1  2 1 1  1 1 1  1 2 1  0 2 1" '
    'face="0 2 1  0 3 2  0 4 3  0 5 4  6 7 8  6 8 9  6 9 10  6 10 11  0 1 7  0 7 6  1 2 8  1 8 7  2 3 9  2 9 8  '
    '3 4 10  3 10 9  4 5 11  4 11 10  5 0 6  5 6 11"'
)

CASES = {
    # compiler
    "angle radian": moving(BALL, 'euler="0.3 0.2 0.1"', '<compiler angle="radian"/>'),
    "angle degree": moving(BALL, 'euler="30 20 10"', '<compiler angle="degree"/>'),
    "angle is degree": moving(BALL, 'euler="30 20 10"'),
    "angle after use": world(
        '<body euler="30 0 0"><joint/><geom size="0.1"/></body>', after='<compiler angle="radian"/>'
    ),
    **{
        f"eulerseq {seq}": moving(BALL, 'euler="30 20 10"', f'<compiler eulerseq="{seq}"/>')
        for seq in ("xyz", "zyx", "XYZ", "ZYX", "xyx", "zxZ", "XyZ", "yzx")
    },
    "autolimits off, limited on": moving(
        BALL, before='<compiler autolimits="false"/>', joint='<joint limited="true" range="-1 30"/>'
    ),
    "autolimits off, nothing": moving(BALL, before='<compiler autolimits="false"/>'),
    "inertiafromgeom true": moving(
        '<inertial pos="1 0 0" mass="3" diaginertia="1 1 1"/>' + BALL, before='<compiler inertiafromgeom="true"/>'
    ),
    "inertiafromgeom true without geoms": moving(
        '<inertial pos="1 0 0" mass="3" diaginertia="1 1 1"/>', before='<compiler inertiafromgeom="true"/>'
    ),
    "inertiafromgeom auto": moving('<inertial pos="1 0 0" mass="3" diaginertia="1 1 1"/>' + BALL),
    "inertiafromgeom false": world(
        '<body><joint/><inertial pos="0 0 1" mass="1" diaginertia="1 1 1"/><body><geom size="1"/></body></body>',
        '<compiler inertiafromgeom="false"/>',
    ),
    "inertiagrouprange": moving(
        '<geom size="0.1" group="2"/><geom size="0.2" pos="1 0 0" group="1"/><geom size="0.3" pos="0 1 0"/>',
        before='<compiler inertiagrouprange="1 2"/>',
    ),
    "boundmass": world(
        '<body pos="0.1 0.2 0.3"><joint/><body pos="0 0 1"><joint type="slide"/><geom size="0.1"/></body></body>',
        '<compiler boundmass="0.5" boundinertia="0.01"/>',
    ),
    "boundinertia": moving(
        '<inertial pos="0 0 1" quat="1 2 3 4" mass="1" diaginertia="0.01 0.02 0.025"/>',
        before='<compiler boundinertia="0.015"/>',
    ),
    "boundinertia full": moving(
        '<inertial pos="0 0 1" mass="1" fullinertia="0.02 0.03 0.04 0.004 0.003 -0.002"/>',
        before='<compiler boundinertia="0.03"/>',
    ),
    "boundinertia of equal moments": moving(BALL, before='<compiler boundinertia="1"/>'),
    "balanceinertia": moving(
        '<inertial pos="0 0 1" quat="1 2 3 4" mass="1" diaginertia="0.01 0.02 0.05"/>',
        before='<compiler balanceinertia="true"/>',
    ),
    "settotalmass": moving(
        '<geom size="0.1"/><body pos="1 0 0"><joint/><geom size="0.2"/></body>', before='<compiler settotalmass="7"/>'
    ),
    "two compilers": moving(BALL, 'euler="0.3 0.2 0.1"', '<compiler eulerseq="zyx"/><compiler angle="radian"/>'),
    # option
    "gravity": moving(BALL, before='<option gravity="1 2 3" timestep="0.01"/>'),
    "gravity off": moving(BALL, before='<option><flag gravity="disable"/></option>'),
    "two options": moving(BALL, before='<option gravity="1 2 3"/><option timestep="0.01"/>'),
    # orientation
    "quat": moving(BALL, 'quat="1 2 3 4"'),
    "quat of any length": moving(BALL, 'quat="10 -20 3 4"'),
    "axisangle": moving(BALL, 'axisangle="1 2 3 40"'),
    "xyaxes": moving(BALL, 'xyaxes="1 2 3 -1 1 0"'),
    "xyaxes half turn": moving(BALL, 'xyaxes="-1 0 0 0 -1 0"'),
    "zaxis": moving(BALL, 'zaxis="1 2 3"'),
    "zaxis up": moving(BALL, 'zaxis="0 0 2"'),
    "zaxis down": moving(BALL, 'zaxis="0 0 -1"'),
    "zaxis nearly down": moving(BALL, 'zaxis="1e-6 0 -1"'),
    # geoms
    "sphere": moving('<geom size="0.1" pos="1 2 3"/>'),
    "capsule": moving('<geom type="capsule" size="0.1 0.3" pos="1 2 3" euler="20 30 40"/>'),
    "cylinder geom": moving('<geom type="cylinder" size="0.1 0.3" pos="1 2 3" euler="20 30 40"/>'),
    "box": moving('<geom type="box" size="0.1 0.2 0.3" pos="1 2 3" euler="20 30 40"/>'),
    "ellipsoid": moving('<geom type="ellipsoid" size="0.1 0.2 0.3" pos="1 2 3" euler="20 30 40"/>'),
    "several geoms": moving(
        '<geom type="box" size="0.1 0.2 0.3" pos="1 2 3" euler="20 30 40"/><geom size="0.3" density="300"/>'
        '<geom type="cylinder" size="0.1 0.3" mass="2" pos="0 0 1"/><geom type="box" size="1 1 1" mass="0"/>'
    ),
    **{
        f"fromto {kind}": moving(f'<geom type="{kind}" fromto="0.1 0.2 0.3 1 -1 2" size="0.1"/>')
        for kind in ("capsule", "cylinder", "box", "ellipsoid")
    },
    "fromto down": moving('<geom type="box" fromto="0 0 0 0 0 1" size="0.1"/>'),
    "fromto up": moving('<geom type="box" fromto="0 0 1 0 0 0" size="0.1"/>'),
    "mass": moving('<geom type="box" size="0.1 0.2 0.3" mass="3"/>'),
    "mass over density": moving('<geom size="0.1" mass="3" density="10"/>'),
    "density": moving('<geom size="0.1" density="10"/>'),
    "density zero": moving('<geom size="0.1" density="0"/><geom size="0.2" pos="1 0 0"/>'),
    **{
        f"shell {kind}": moving(f'<geom type="{kind}" size="{size}" shellinertia="true" pos="0.1 0 0"/>')
        for kind, size in (("sphere", "0.1"), ("box", "0.1 0.2 0.3"), ("cylinder", "0.1 0.3"), ("capsule", "0.1 0.3"))
    },
    "contact attributes": moving(
        '<geom size="0.1" contype="2" conaffinity="4" condim="6" priority="3" group="2" friction="0.5 0.1" '
        'margin="0.01" gap="0.005"/>'
    ),
    "friction one number": moving('<geom size="0.1" friction="0.3"/>'),
    "plane": world('<geom type="plane" size="0 0 1" pos="0 0 1" euler="10 0 0"/>' + '<body><joint/><geom '
        'size="1"/></body>'),
    "plane on a fixed body": world('<body pos="1 2 3"><geom type="plane" size="1 1 1"/></body>'),
    # joints
    "hinge": moving(BALL, joint='<joint axis="1 2 3" pos="0.1 0.2 0.3" ref="20" springref="10" stiffness="2"/>'),
    "slide": moving(BALL, joint='<joint type="slide" axis="1 2 3" ref="0.2" springref="0.1" stiffness="2"/>'),
    "ball": moving(BALL, joint='<joint type="ball" pos="0.1 0 0" stiffness="2" damping="0.1" range="0 60"/>'),
    "free": world('<body pos="1 2 3" quat="1 2 3 4"><joint type="free" damping="0.3" armature="0.2"/><geom '
        'size="1"/></body>'),
    "freejoint takes no defaults": world(
        '<body pos="1 2 3"><freejoint name="f"/><geom size="1"/></body>',
        '<default><joint damping="3" armature="1"/></default>',
    ),
    "range": moving(BALL, joint='<joint range="-30 40" margin="0.1" frictionloss="0.2" armature="0.3" damping="0.4"/>'),
    "range of a slide": moving(BALL, joint='<joint type="slide" range="-30 40"/>'),
    "limited false": moving(BALL, joint='<joint range="-30 40" limited="false"/>'),
    "range backwards is no limit": moving(BALL, joint='<joint range="40 -30"/>'),
    "actuatorfrcrange": moving(BALL, joint='<joint actuatorfrcrange="-3 4"/>'),
    "springdamper": moving(
        '<geom size="0.1" pos="1 0 0"/><body pos="0 1 0"><joint axis="1 0 0" springdamper="0.1 0.7"/><geom '
            'size="0.1"/></body>',
        joint='<joint springdamper="0.3 1.2" armature="0.1"/>',
    ),
    "springdamper of a ball": moving('<geom size="0.1" pos="1 0 0"/>', joint='<joint type="ball" '
        'springdamper="0.3 1.2"/>'),
    "many joints": moving(
        BALL,
        joint='<joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 1 0"/><joint axis="0 0 1" pos="0.1 0 0"/>'
        '<joint axis="0 1 0"/>',
    ),
    # inertial
    "inertial": moving('<inertial pos="1 2 3" mass="4" diaginertia="1 2 2.5"/>'),
    "inertial quat": moving('<inertial pos="1 2 3" quat="4 3 2 1" mass="4" diaginertia="1 2 2.5"/>'),
    "inertial euler": moving('<inertial pos="1 2 3" euler="10 20 30" mass="4" diaginertia="1 2 2.5"/>'),
    "inertial full": moving('<inertial pos="1 2 3" mass="4" fullinertia="3 4 5 0.3 -0.2 0.1"/>'),
    "inertial zaxis": moving('<inertial pos="1 2 3" zaxis="1 1 1" mass="4" diaginertia="1 2 2.5"/>'),
    # frames
    "frame": moving(
        '<frame pos="1 2 3" euler="10 20 30"><geom type="box" size="0.1 0.2 0.3" pos="0.1 0.2 0.3" euler="5 0 0"/>'
        '<site name="s" pos="0.4 0 0"/><frame pos="0 0 1" quat="1 1 0 0"><geom type="capsule" fromto="0 0 0 1 1 1" '
        'size="0.1"/><body pos="1 0 0"><joint axis="1 0 0"/><geom size="0.2"/></body></frame></frame>'
    ),
    "frame around joints": moving(
        BALL, joint='<frame pos="1 2 3" euler="10 20 30"><joint axis="1 0 0" pos="0.1 0 0"/></frame>'
    ),
    "frame in the world": world(
        '<frame pos="1 2 3" euler="10 20 30"><body pos="0 0 1"><freejoint/><geom size="0.1"/></body><geom '
            'size="1"/></frame>'
    ),
    "frame childclass": moving(
        '<frame childclass="x"><geom/><body><geom class="y"/><geom/></body></frame><geom size="0.5"/>',
        before='<default><default class="x"><geom size="0.1"/></default><default class="y"><geom size="0.2"/></default>'
        "</default>",
    ),
    # sites
    "site": moving(BALL + '<site name="s" pos="1 2 3" euler="10 20 30"/><site pos="0 1 0" zaxis="1 1 1"/>'),
    "site fromto": moving(BALL + '<site type="capsule" fromto="0 0 0 1 1 1" size="0.1"/>'),
    # defaults
    "main": moving("<geom/>", before='<default><geom size="0.3" density="5" euler="1 2 3"/></default>'),
    "main by name": moving("<geom/>", before='<default class="main"><geom size="0.3"/></default>'),
    "nested classes": moving(
        '<geom class="a"/><geom class="b"/><geom class="c" size="0.4"/><geom size="0.1"/>',
        before='<default><geom condim="6"/><default class="a"><geom size="0.3" group="1"/><default class="b">'
        '<geom size="0.5" friction="0.2"/></default></default><default class="c"><geom '
            'margin="0.1"/></default></default>',
    ),
    "a class takes what stands behind it": moving(
        '<geom class="a"/>',
        before='<default><default class="a"><geom group="2"/></default><geom size="0.3"/></default>',
    ),
    "a second default comes too late for classes": moving(
        '<geom class="a" size="0.2"/><geom size="0.1"/>',
        before='<default><default class="a"><geom group="2"/></default></default><default><geom '
            'friction="0.3"/></default>',
    ),
    "childclass": world(
        '<body childclass="a"><joint/><geom/><body><geom/><body childclass="b"><geom/><geom '
            'class="a"/></body></body></body>',
        '<default><default class="a"><geom size="0.1"/><joint damping="3"/></default>'
        '<default class="b"><geom size="0.2"/></default></default>',
    ),
    "default joint": moving(BALL, before='<default><joint type="slide" axis="0 1 0" damping="2" range="-1 '
        '1"/></default>'),
    "default fromto": moving('<geom/>', before='<default><geom type="capsule" fromto="0 0 0 0 1 1" '
        'size="0.1"/></default>'),
    "quat wins over a default orientation": moving(
        '<geom type="box" size="0.1 0.2 0.3" quat="1 2 3 4"/>', before='<default><geom euler="10 20 30"/></default>'
    ),
    "default size with one more number": moving(
        '<geom type="box" size="0.1 0.2"/>', before='<default><geom size="0.3 0.3 0.3"/></default>'
    ),
    "default mass": moving('<geom size="0.1"/>', before='<default><geom mass="2"/></default>'),
    # meshes
    "mesh": moving('<geom type="mesh" mesh="m" pos="1 2 3" euler="10 20 30"/>', before=f'<asset><mesh name="m" '
        f'{TETRA}/></asset>'),
    "mesh scale": moving('<geom type="mesh" mesh="m"/>', before=f'<asset><mesh name="m" scale="1 2 0.5" '
        f'{TETRA}/></asset>'),
    "mesh mirrored": moving('<geom type="mesh" mesh="m"/>', before=f'<asset><mesh name="m" scale="1 -2 0.5" '
        f'{TETRA}/></asset>'),
    "mesh refpos refquat": moving(
        '<geom type="mesh" mesh="m"/>',
        before=f'<asset><mesh name="m" refpos="1 2 3" refquat="1 2 3 4" scale="1 2 3" {TETRA}/></asset>',
    ),
    "mesh without faces": moving(
        '<geom type="mesh" mesh="m"/>', before='<asset><mesh name="m" vertex="0 0 0  1 0 0  0 1 0  0 0 1  0.1 '
            '0.1 0.1"/></asset>'
    ),
    **{
        f"mesh inertia {mode}": moving(
            '<geom type="mesh" mesh="m"/>', before=f'<asset><mesh name="m" inertia="{mode}" {ELL}/></asset>'
        )
        for mode in ("legacy", "exact", "convex", "shell")
    },
    "mesh inertia is legacy": moving('<geom type="mesh" mesh="m"/>', before=f'<asset><mesh name="m" {ELL}/></asset>'),
    "mesh class": moving(
        '<geom type="mesh" mesh="m"/>',
        before=f'<default><mesh scale="2 2 2"/></default><asset><mesh name="m" {TETRA}/></asset>',
    ),
    "mesh mass": moving('<geom type="mesh" mesh="m" mass="3"/>', before=f'<asset><mesh name="m" {TETRA}/></asset>'),
    # height fields
    "hfield": world(
        '<geom type="hfield" hfield="h" pos="0 0 1"/><body><freejoint/><geom size="0.1"/></body>',
        '<asset><hfield name="h" nrow="2" ncol="3" size="1 2 3 0.1" elevation="1 2 3 4 5 9"/></asset>',
    ),
    # contact
    "pair and exclude": ARM
    % '<contact><exclude body1="f" body2="a"/><pair geom1="gf" geom2="ga" friction="0.5 0.5" condim="6" margin="0.1"/>'
    '<exclude name="e" body1="c" body2="a"/><pair name="p" geom1="gb" geom2="ga"/></contact>',
    "pair class": ARM.replace("<worldbody>", '<default><pair condim="1" friction="0.2 0.2 0.01"/></default><worldbody>')
    % '<contact><pair geom1="gf" geom2="ga"/></contact>',
    # tendons
    "fixed tendon": ARM
    % '<tendon><fixed name="x" stiffness="3" damping="2" range="-1 1" springlength="0.1 0.2" frictionloss="0.1" '
    'margin="0.01"><joint joint="j" coef="2"/><joint joint="k" coef="-1"/></fixed></tendon>',
    "fixed tendon rests where it starts": ARM
    % '<tendon><fixed stiffness="3"><joint joint="j" coef="2"/></fixed></tendon>',
    "spatial tendon": ARM
    % '<tendon><spatial name="x" stiffness="3" springlength="0.1"><site site="s"/><site site="t"/><site site="u"/>'
    "</spatial></tendon>",
    "pulley": ARM
    % '<tendon><spatial stiffness="3"><site site="s"/><site site="t"/><pulley divisor="2"/><site '
        'site="t"/><site site="u"/>'
    "</spatial></tendon>",
    "tendon class": ARM.replace("<worldbody>", '<default><tendon stiffness="5" '
        'springlength="0.3"/></default><worldbody>')
    % '<tendon><spatial><site site="s"/><site site="t"/></spatial><spatial springlength="0.1 0.4"><site site="s"/>'
    '<site site="t"/></spatial></tendon>',
    # actuators
    "motor": ARM % '<actuator><motor name="m" joint="j" gear="3" ctrlrange="-1 2" forcerange="-3 4"/></actuator>',
    "position": ARM % '<actuator><position joint="j" kp="20" kv="2"/></actuator>',
    "position without kp": ARM % '<actuator><position joint="j"/></actuator>',
    "position timeconst": ARM % '<actuator><position joint="j" kp="20" timeconst="0.1"/></actuator>',
    "position timeconst zero": ARM % '<actuator><position joint="j" kp="20" timeconst="0"/></actuator>',
    "position dampratio": ARM
    % '<actuator><position joint="j" kp="20" dampratio="0.7" gear="2"/><position joint="k" kp="5" '
        'dampratio="1"/></actuator>',
    "position dampratio on a ball": ARM % '<actuator><position joint="l" kp="20" dampratio="0.7" gear="1 2 '
        '3"/></actuator>',
    "position dampratio on a tendon": ARM
    % '<tendon><fixed name="x"><joint joint="j" coef="2"/><joint joint="k" coef="-3"/></fixed></tendon>'
    '<actuator><position tendon="x" kp="20" dampratio="0.7" gear="2"/></actuator>',
    "position inheritrange": ARM % '<actuator><position joint="j" kp="20" inheritrange="0.8"/></actuator>',
    "velocity": ARM % '<actuator><velocity joint="k" kv="3"/></actuator>',
    "intvelocity": ARM % '<actuator><intvelocity joint="j" kp="20" actrange="-1 1"/></actuator>',
    "intvelocity inheritrange": ARM % '<actuator><intvelocity joint="j" kp="20" inheritrange="1"/></actuator>',
    "damper": ARM % '<actuator><damper joint="j" kv="3" ctrlrange="0 2"/></actuator>',
    "cylinder": ARM % '<actuator><cylinder joint="k" timeconst="0.2" area="3" bias="1 2 3"/></actuator>',
    "cylinder diameter": ARM % '<actuator><cylinder joint="k" timeconst="0.2" diameter="0.3"/></actuator>',
    "general": ARM
    % '<actuator><general joint="j" gaintype="affine" gainprm="1 2 3" biastype="affine" biasprm="4 5 6" '
        'dyntype="filter" '
    'dynprm="0.3" actrange="-1 1" actearly="true"/></actuator>',
    "general biasprm without bias": ARM % '<actuator><general joint="j" gainprm="7 8 9" biasprm="4 5 6"/></actuator>',
    "general integrator": ARM % '<actuator><general joint="j" dyntype="integrator" actlimited="true" '
        'actrange="0 1"/></actuator>',
    "general dampratio": ARM
    % '<actuator><general joint="j" biastype="affine" gainprm="7" biasprm="0 -7 0.5"/></actuator>',
    "targets": ARM
    % '<tendon><fixed name="x"><joint joint="j" coef="2"/></fixed></tendon><actuator><motor joint="j"/><motor '
        'tendon="x"/>'
    '<motor site="u" gear="1 2 3 4 5 6"/><motor joint="l" gear="1 2 3"/><motor joint="free" gear="1 2 3 4 5 6"/>'
    '<motor jointinparent="k"/></actuator>',
    "limits": ARM
    % '<actuator><motor joint="j" ctrllimited="false" ctrlrange="-1 1"/><motor joint="j" forcelimited="true" '
    'forcerange="-1 1"/></actuator>',
    "actuator classes": ARM.replace(
        "<worldbody>",
        '<default><motor gear="5"/><default class="p"><position kp="30" kv="3" ctrlrange="-1 1"/></default>'
        '<default class="g"><general biastype="affine" gainprm="9" biasprm="1 2 3" '
            'dyntype="filter"/></default></default>'
        "<worldbody>",
    )
    % '<actuator><motor joint="j"/><position class="p" joint="j"/><position class="p" joint="k" kp="10"/>'
    '<general class="g" joint="j"/><motor class="g" joint="j"/><velocity class="p" joint="j"/>'
    '<position class="g" joint="j" kp="2"/><general class="p" joint="k"/></actuator>',
    # equality
    "connect": ARM % '<equality><connect name="e" body1="a" body2="f" anchor="0.1 0.2 0.3"/></equality>',
    "equality kinds": ARM
    % '<tendon><fixed name="x"><joint joint="j" coef="2"/></fixed></tendon><equality><weld body1="a"/>'
    '<joint name="q" joint1="j" joint2="k" polycoef="0 2 1"/><joint joint1="j"/><tendon tendon1="x"/>'
    '<connect site1="s" site2="u" active="false"/></equality>',
    # keyframes
    "keys": ARM
    % '<actuator><general joint="j" dyntype="integrator"/><motor joint="k"/></actuator><keyframe>'
    '<key name="a" time="2" qpos="1 2 3 4 5 6 0.1 0.2 0.3 7 8 9 1" qvel="1 2 3 4 5 6 7 8 9 10 11" act="0.5" '
        'ctrl="1 2"/>'
    "<key/></keyframe>",
    "short keys": ARM.replace('name="j"', 'name="j" ref="9"')
    % '<actuator><motor joint="k"/><motor joint="j"/></actuator><keyframe><key qpos="1"/><key qpos="1 2 3"/>'
    '<key qpos="1 2 0 0 0 0 5 6 7"/><key qvel="1 2" ctrl="3"/><key qpos="1 2 1 1 1 1 5 6 7 0.1 0.2 0.3"/></keyframe>',
    "nkey": ARM.replace("<worldbody>", '<size nkey="3"/><worldbody>') % '<keyframe><key name="a" time="1"/></keyframe>',
    # the file as a whole
    "several worlds": "<mujoco><worldbody><geom size='1'/><body name='a'><joint/><geom size='1'/></body></worldbody>"
    "<worldbody><geom size='2'/><body name='b'><joint/><geom size='1'/></body></worldbody></mujoco>",
    "sections in any order": "<mujoco><actuator><motor joint='j'/></actuator><worldbody><body><joint name='j'/>"
    "<geom class='x'/></body></worldbody><default><default class='x'><geom size='0.1'/></default></default></mujoco>",
    "numbers in all spellings": moving(BALL, 'pos="+1 -.5 2.e-3"', joint='<joint axis=" 1E0\n\t0 '
        '0.30000000000000004 "/>'),
    "empty attribute": moving(BALL, 'pos="" quat=" "'),
    "looks": moving(
        '<geom size="0.1" rgba="1 0 0 1" material="m"/><camera name="c" pos="0 0 1" fovy="30"/><light dir="0 0 -1"/>',
        before='<visual><map znear="0.01"/><rgba haze="1 1 1 1"/></visual><statistic extent="2"/>'
        '<asset><texture name="t" type="2d" builtin="checker" width="8" height="8"/><material name="m" '
            'texture="t"/></asset>',
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_as_mujoco(name: str) -> None:
    compare(*load_both(CASES[name]))


LAWS = {
    "general fixed": '<general gainprm="9 8 7"/>',
    "general affine": '<general gaintype="affine" gainprm="9 8 -7" biastype="affine" biasprm="1 2 -3" dyntype="filter" '
    'dynprm="0.3 0.4"/>',
    "general filterexact": '<general biastype="affine" gainprm="9 8 -7" biasprm="1 2 -3" dyntype="filterexact" '
    'dynprm="0.3"/>',
    "general bias": '<general biasprm="1 2 -3" dynprm="0.3"/>',
    "motor": '<motor gear="3"/>',
    "position": '<position kp="30" kv="3" timeconst="0.2"/>',
    "velocity": '<velocity kv="30"/>',
    "intvelocity": '<intvelocity kp="30" kv="3"/>',
    "damper": '<damper kv="30" ctrlrange="0 1"/>',
    "cylinder": '<cylinder area="30" timeconst="0.2" bias="1 2 -3"/>',
    "muscle": "<muscle/>",
    "position, then general": '<position kp="30"/><general gear="2"/>',
    "general, then position": '<general gainprm="5"/><position kv="3"/>',
    "position, then velocity": '<position kp="30"/><velocity kv="2"/>',
    "position and motor": '<position kp="30" ctrlrange="0 1"/><motor gear="2"/>',
    "dampratio, then general": '<position kp="30" dampratio="1"/><general gear="2"/>',
    "position around motor": '<position kp="30"/><default class="x"><motor gear="2"/></default>',
    "position around general": '<position kp="30"/><default class="x"><general dynprm="0.3"/></default>',
    "position around affine": '<position kp="30"/><default class="x"><general gaintype="affine" gainprm="5 6 '
    '-7"/></default>',
    "general around position": '<general gainprm="30"/><default class="x"><position kp="7"/></default>',
    "position around position": '<position kp="30"/><default class="x"><position kv="2"/></default>',
    "two around": '<position kp="30"/><default class="z"><motor/><default class="x"><velocity '
    'kv="2"/></default></default>',
    "nothing in the class": '<cylinder area="30"/><default class="x"><geom size="1"/></default>',
}
SHORTCUTS = ("motor", "position", "velocity", "intvelocity", "damper", "cylinder", "general")


# muscles are not built, so a general actuator that takes their law is not either
@pytest.mark.parametrize(
    ("name", "shortcut"), [(n, s) for n in LAWS for s in SHORTCUTS if (n, s) != ("muscle", "general")]
)
def test_what_a_shortcut_takes_from_its_class(name: str, shortcut: str) -> None:
    limits = 'ctrlrange="0 1"' if shortcut == "damper" else ""
    text = ARM.replace("<worldbody>", f"<default>{LAWS[name]}</default><worldbody>")
    inner = 'class="x"' if "<default" in LAWS[name] else ""
    text = text % f'<actuator><{shortcut} joint="j" {limits} {inner}/></actuator>'
    m, mj = load_both(text)
    compare_actuators(m, mj)


# armature and damping of a drive act on the joint: MuJoCo keeps them apart, the motion is the same
DRIVES = {
    "on a hinge": '<motor joint="j" gear="3" armature="0.1" damping="0.2"/>',
    "two on one": '<motor joint="j" gear="3" armature="0.1"/><motor joint="j" damping="0.2" armature="0.3"/>',
    "with a damping ratio": '<position joint="j" kp="3" dampratio="1" armature="0.1"/>',
}


@pytest.mark.parametrize("name", DRIVES)
def test_drives(name: str) -> None:
    m, mj = load_both(ARM % f"<actuator>{DRIVES[name]}</actuator>")
    compare_motion(m, mj)
    compare_actuators(m, mj)


def test_damping_of_a_drive_on_a_tendon() -> None:
    tendon = (
        '<tendon><fixed name="x" damping="0.1"><joint joint="j" coef="2"/><joint joint="k" coef="3"/></fixed></tendon>'
    )
    m, mj = load_both(ARM % (tendon + '<actuator><motor tendon="x" gear="3" damping="0.2"/></actuator>'))
    compare_motion(m, mj)


# ---- refusals ----

REFUSED = {
    "unknown element": "<mujoco><banana/></mujoco>",
    "unknown attribute": moving('<geom size="1" colour="red"/>'),
    "attribute of another element": moving('<geom size="1" axis="1 0 0"/>'),
    "world with a joint": world("<joint/>"),
    "world with inertia": world('<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'),
    "world with attributes": '<mujoco><worldbody name="x"/></mujoco>',
    "unknown class": moving('<geom class="x" size="1"/>'),
    "unknown childclass": moving(BALL, 'childclass="x"'),
    "class twice": moving(BALL, before='<default><default class="a"/><default class="a"/></default>'),
    "class without a name": moving(BALL, before="<default><default/></default>"),
    "outermost class renamed": moving(BALL, before='<default class="x"/>'),
    "element twice in a class": moving(BALL, before='<default><geom size="1"/><geom size="2"/></default>'),
    "name twice": moving('<geom name="g" size="1"/><geom name="g" size="2"/>'),
    "body called world": world('<body name="world"><joint/><geom size="1"/></body>'),
    "two orientations": moving(BALL, 'quat="1 0 0 0" euler="1 2 3"'),
    "zero quaternion": moving(BALL, 'quat="0 0 0 0"'),
    "zero axis": moving(BALL, joint='<joint axis="0 0 0"/>'),
    "zero zaxis": moving(BALL, 'zaxis="0 0 0"'),
    "parallel xyaxes": moving(BALL, 'xyaxes="1 0 0 2 0 0"'),
    "eulerseq": moving(BALL, 'euler="1 2 3"', '<compiler eulerseq="xya"/>'),
    "coordinate global": moving(BALL, before='<compiler coordinate="global"/>'),
    "unknown joint type": moving(BALL, joint='<joint type="screw"/>'),
    "unknown geom type": moving('<geom type="cone" size="1"/>'),
    "missing size": moving('<geom type="box" size="1 1"/>'),
    "negative size": moving('<geom size="-1"/>'),
    "plane that moves": moving('<geom type="plane" size="1 1 1"/>' + BALL),
    "condim 2": moving('<geom size="1" condim="2"/>'),
    "too many numbers": moving(BALL, 'pos="1 2 3 4"'),
    "too few numbers": moving(BALL, 'pos="1 2"'),
    "no number": moving(BALL, 'pos="1 2 x"'),
    "a word behind a number": moving(BALL, 'pos="1 2 3m"'),
    "a real for an integer": moving('<geom size="1" condim="3.0"/>'),
    "unknown word": moving(BALL, joint='<joint limited="maybe"/>'),
    "fromto of a sphere": moving('<geom fromto="0 0 0 1 1 1" size="1"/>'),
    "fromto and pos": moving('<geom type="capsule" fromto="0 0 0 1 1 1" pos="1 0 0" size="1"/>'),
    "fromto of no length": moving('<geom type="capsule" fromto="1 1 1 1 1 1" size="1"/>'),
    "range without limited": moving(BALL, before='<compiler autolimits="false"/>', joint='<joint range="-1 1"/>'),
    "limited without range": moving(BALL, joint='<joint limited="true"/>'),
    "ball range": moving(BALL, joint='<joint type="ball" range="-30 30"/>'),
    "springdamper": moving(BALL, joint='<joint springdamper="1 0"/>'),
    "no mass": moving(""),
    "inertial without mass": moving('<inertial pos="0 0 0" diaginertia="1 1 1"/>'),
    "inertial without pos": moving('<inertial mass="1" diaginertia="1 1 1"/>'),
    "two inertials": moving('<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>' * 2),
    "negative mass": moving('<inertial pos="0 0 0" mass="-1" diaginertia="1 1 1"/>'),
    "negative geom mass": moving('<geom size="1" mass="-1"/>'),
    "triangle inequality": moving('<inertial pos="0 0 0" mass="1" diaginertia="1 1 3"/>'),
    "full and diagonal": moving('<inertial pos="0 0 0" mass="1" diaginertia="1 1 1" fullinertia="1 1 1 0 0 0"/>'),
    "full and euler": moving('<inertial pos="0 0 0" mass="1" euler="1 2 3" fullinertia="1 1 1 0 0 0"/>'),
    "free joint below": world('<body><joint/><geom size="1"/><body><freejoint/><geom size="1"/></body></body>'),
    "free joint and another": world('<body><freejoint/><joint/><geom size="1"/></body>'),
    "mesh missing": moving('<geom type="mesh" mesh="m"/>'),
    "mesh not named": moving('<geom type="mesh"/>'),
    "mesh with a bad face": moving(
        '<geom type="mesh" mesh="m"/>', before='<asset><mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0 1" face="0 '
            '1 9"/></asset>'
    ),
    "mesh with half a vertex": moving(
        '<geom type="mesh" mesh="m"/>', before='<asset><mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0"/></asset>'
    ),
    "flat mesh": moving(
        '<geom type="mesh" mesh="m"/>', before='<asset><mesh name="m" vertex="0 0 0 1 0 0 0 1 0 1 1 0"/></asset>'
    ),
    "hfield size": world(
        '<geom type="hfield" hfield="h"/>', '<asset><hfield name="h" nrow="2" ncol="2" size="1 1 0 1"/></asset>'
    ),
    "hfield elevation": world(
        '<geom type="hfield" hfield="h"/>',
        '<asset><hfield name="h" nrow="2" ncol="2" size="1 1 1 1" elevation="1 2 3"/></asset>',
    ),
    "exclude of nothing": ARM % '<contact><exclude body1="a" body2="zzz"/></contact>',
    "pair of nothing": ARM % '<contact><pair geom1="ga" geom2="zzz"/></contact>',
    "tendon of nothing": ARM % '<tendon><fixed><joint joint="zzz" coef="1"/></fixed></tendon>',
    "empty tendon": ARM % "<tendon><fixed/></tendon>",
    "tendon with one site": ARM % '<tendon><spatial><site site="s"/></spatial></tendon>',
    "tendon ends with a pulley": ARM
    % '<tendon><spatial><site site="s"/><site site="t"/><pulley divisor="2"/></spatial></tendon>',
    "springlength backwards": ARM
    % '<tendon><spatial springlength="2 1"><site site="s"/><site site="t"/></spatial></tendon>',
    "actuator without target": ARM % "<actuator><motor/></actuator>",
    "actuator of nothing": ARM % '<actuator><motor joint="zzz"/></actuator>',
    "ctrlrange backwards": ARM % '<actuator><motor joint="j" ctrllimited="true" ctrlrange="1 -1"/></actuator>',
    "kv and dampratio": ARM % '<actuator><position joint="j" kv="1" dampratio="1"/></actuator>',
    "negative kv": ARM % '<actuator><position joint="j" kv="-1"/></actuator>',
    "ctrlrange and inheritrange": ARM
    % '<actuator><position joint="j" ctrlrange="-1 1" inheritrange="1"/></actuator>',
    "inheritrange without range": ARM.replace(' range="-60 90"', "")
    % '<actuator><position joint="j" inheritrange="1"/></actuator>',
    "actrange without dynamics": ARM % '<actuator><general joint="j" actrange="-1 1"/></actuator>',
    "damper with negative range": ARM % '<actuator><damper joint="j" kv="1" ctrlrange="-1 1"/></actuator>',
    "connect without anchor": ARM % '<equality><connect body1="a"/></equality>',
    "connect with bodies and sites": ARM
    % '<equality><connect body1="a" anchor="0 0 0" site1="s" site2="t"/></equality>',
    "weld of nothing": ARM % '<equality><weld body1="zzz"/></equality>',
    "joint equality of a ball": ARM % '<equality><joint joint1="l"/></equality>',
    "key of the wrong size": ARM % '<keyframe><key qpos="1 2 3 4 5 6 7 8 9 10 11 12 13 14"/></keyframe>',
    "key ctrl of the wrong size": ARM % '<keyframe><key ctrl="1"/></keyframe>',
    "key act of the wrong size": ARM % '<keyframe><key act="1"/></keyframe>',
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refused_as_by_mujoco(name: str) -> None:
    with pytest.raises(ValueError, match="Error"):
        mujoco.MjModel.from_xml_string(REFUSED[name])
    with pytest.raises(Exception, match=r"<string>:\d+: ") as refusal:
        tg.load_string(REFUSED[name])
    assert isinstance(refusal.value, (tg.Error, LookupError, ValueError, NotImplementedError))


# ---- the report ----


def kinds(text: str) -> list[tuple[str, str]]:
    m = tg.load_string(text)
    return [(e.element, e.attribute) for e in m.report if e.kind == tg.ReportKind.IGNORED_PHYSICS]


IGNORED = {
    "density": (moving(BALL, before='<option density="1.2"/>'), ("option", "density")),
    "wind": (moving(BALL, before='<option wind="0 1 0"/>'), ("option", "wind")),
    "contact off": (moving(BALL, before='<option><flag contact="disable"/></option>'), ("flag", "contact")),
    "gravcomp": (moving(BALL, 'gravcomp="1"'), ("body 'b'", "gravcomp")),
    "mocap": (world('<body name="b" mocap="true"/>' + '<body><joint/><geom size="1"/></body>'), ("body 'b'", "mocap")),
    "wrapping": (
        ARM % '<tendon><spatial><site site="s"/><geom geom="ga"/><site site="t"/></spatial></tendon>',
        ("geom", ""),
    ),
    "muscle": (ARM % '<actuator><muscle name="x" joint="j"/></actuator>', ("muscle 'x'", "")),
    "user gain": (
        ARM % '<actuator><general name="x" joint="j" gaintype="user"/></actuator>',
        ("general 'x'", "gaintype"),
    ),
    "refsite": (ARM % '<actuator><motor name="x" site="s" refsite="t"/></actuator>', ("motor 'x'", "refsite")),
    "cubic spring": (moving(BALL, joint='<joint name="j" stiffness="1 2"/>'), ("joint 'j'", "stiffness")),
    "adhesion": (ARM % '<actuator><adhesion name="x" body="a" ctrlrange="0 1"/></actuator>', ("adhesion 'x'", "")),
    "tendon armature": (
        ARM % '<tendon><fixed name="x" armature="1"><joint joint="j" coef="1"/></fixed></tendon>',
        ("fixed 'x'", "armature"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", IGNORED)
def test_ignored_physics_is_reported_and_refused_in_strict_mode(name: str) -> None:
    text, place = IGNORED[name]
    mujoco.MjModel.from_xml_string(text)
    assert place in kinds(text)
    with pytest.raises(Exception, match=r"<string>:\d+: .*ignored physics"):
        tg.load_string(text, strict=True)


@pytest.mark.parametrize(
    "text", [CASES["looks"], moving(BALL, before='<option density="0" wind="0 0 0" impratio="3"/>')]
)
def test_nothing_ignored(text: str) -> None:
    assert kinds(text) == []
    tg.load_string(text, strict=True)


def test_an_actuator_that_is_not_built_keeps_its_place() -> None:
    m, mj = load_both(ARM % '<actuator><motor joint="j"/><muscle joint="k"/><motor joint="k"/></actuator>')
    assert (m.nu, m.na) == (mj.nu, mj.na) == (3, 1)
    q, v = m.random_state(1)
    force = m.actuation(q, v, act=[0.7], u=[0, 0.9, 0])
    assert not np.any(force[0] if isinstance(force, tuple) else force)


def test_softness_is_approximated() -> None:
    m = tg.load_string(moving('<geom name="g" size="1" solref="0.1 1"/>'), strict=True)
    entry = next(e for e in m.report if e.attribute == "solref")
    assert entry.kind == tg.ReportKind.APPROXIMATED
    assert (entry.element, entry.line) == ("geom 'g'", 1)


def test_custom_numbers_set_parameters() -> None:
    custom = (
        '<custom><numeric name="tangere:geom.g.restitution" data="0.5"/><numeric name="tangere:geom.g.kinetic" '
        'data="0.8"/>'
        '<numeric name="tangere:geom.g.slip_speed" data="0.01"/><numeric name="tangere:geom.g.compliance" data="1e-5"/>'
        '<numeric name="other" data="1 2 3"/></custom>'
    )
    m = tg.load_string(moving('<geom name="g" size="1"/>', after=custom))
    fields = ("restitution", "kinetic", "slip_speed", "compliance")
    assert [m.params[f"geom.g.{field}"] for field in fields] == [0.5, 0.8, 0.01, 1e-5]
    for name, data in (("geom.zzz.restitution", "1"), ("geom.g.restitution", "2"), ("geom.g.restitution", "1 1")):
        bad = f'<custom><numeric name="tangere:{name}" data="{data}"/></custom>'
        with pytest.raises(Exception, match="<string>:1: numeric"):
            tg.load_string(moving('<geom name="g" size="1"/>', after=bad))


# ---- files ----


def test_include(tmp_path) -> None:
    (tmp_path / "parts" / "deep").mkdir(parents=True)
    (tmp_path / "scene.xml").write_text('<mujoco model="scene"><include file="parts/robot.xml"/><worldbody>'
                                        '<geom type="plane" size="1 1 1"/></worldbody></mujoco>')  # fmt: skip
    (tmp_path / "parts" / "robot.xml").write_text(
        '<mujoco model="robot"><compiler angle="radian"/><worldbody><body name="a" euler="1 0 0"><freejoint/>'
        '<include file="deep/geoms.xml"/></body></worldbody></mujoco>'
    )
    (tmp_path / "parts" / "deep" / "geoms.xml").write_text('<x><geom size="0.1"/><geom size="0.2" pos="1 0 0"/></x>')
    m, mj = tg.load(tmp_path / "scene.xml"), mujoco.MjModel.from_xml_path(str(tmp_path / "scene.xml"))
    compare(m, mj)
    assert m.name == "scene"


BOX_OBJ = """# a box
v -1 -1 -1
v 1 -1 -1
v 1 1 -1
v -1 1 -1
v -1 -1 1
v 1 -1 1
v 1 1 1
v -1 1 1
f 4 3 2 1
f 5/1 6/2 7/3 8/4
f 1//1 2//1 6//1 5//1
f -7 -6 -2 -3
f 3 4 8 7
f 4 1 5 8
"""
BOX_FACES = [
    *[(4, 3, 2), (4, 2, 1), (5, 6, 7), (5, 7, 8), (1, 2, 6), (1, 6, 5)],
    *[(2, 3, 7), (2, 7, 6), (3, 4, 8), (3, 8, 7), (4, 1, 5), (4, 5, 8)],
]


def box_corners() -> np.ndarray:
    return np.array([line.split()[1:] for line in BOX_OBJ.splitlines() if line.startswith("v ")], float)


def binary_stl() -> bytes:
    v = box_corners()
    record = np.dtype([("n", "<3f4"), ("v", "<(3,3)f4"), ("a", "<u2")])
    data = np.zeros(len(BOX_FACES), record)
    data["v"] = [[v[i - 1] for i in face] for face in BOX_FACES]
    return b"box".ljust(80) + np.uint32(len(BOX_FACES)).tobytes() + data.tobytes()


def text_stl() -> bytes:
    v = box_corners()
    out = ["solid box"]
    for face in BOX_FACES:
        out += ["facet normal 0 0 0", "outer loop"]
        out += ["vertex {:g} {:g} {:e}".format(*v[i - 1]) for i in face]
        out += ["endloop", "endfacet"]
    return "\n".join([*out, "endsolid box"]).encode()


def msh() -> bytes:
    v, f = box_corners(), np.array(BOX_FACES) - 1
    return np.array([len(v), 0, 0, len(f)], "<i4").tobytes() + v.astype("<f4").tobytes() + f.astype("<i4").tobytes()


MESH_MODEL = (
    '<mujoco><compiler meshdir="meshes"/><asset><mesh file="{}" scale="0.1 0.2 -0.3"/></asset><worldbody><body>'
    '<freejoint/><geom type="mesh" mesh="box"/></body></worldbody></mujoco>'
)


@pytest.mark.parametrize(
    ("name", "content"),
    [("box.obj", BOX_OBJ.encode()), ("box.stl", binary_stl()), ("box.STL", text_stl()), ("box.msh", msh())],
)
def test_mesh_files(tmp_path, name: str, content: bytes) -> None:
    (tmp_path / "meshes").mkdir()
    (tmp_path / "meshes" / name).write_bytes(content)
    (tmp_path / "m.xml").write_text(MESH_MODEL.format(name))
    m = tg.load(tmp_path / "m.xml")
    assert m.names("mesh") == ["box"]
    volume = 8 * 0.1 * 0.2 * 0.3
    check("mass", m.params["body.#1.mass"], 1000 * volume, 1e-6)
    if not content.startswith(b"solid"):  # MuJoCo reads no STL in text
        compare(m, mujoco.MjModel.from_xml_path(str(tmp_path / "m.xml")))


BAD_MESHES = {
    "empty.stl": b"",
    "header.stl": b"x" * 84,
    "announced.stl": b"x" * 80 + np.uint32(10_000_000).tobytes(),
    "nan.stl": b"x" * 80 + np.uint32(1).tobytes() + np.full(12, np.nan, "<f4").tobytes() + b"xx",
    "text.stl": b"solid\nvertex 1 2\n",
    "empty.obj": b"",
    "face.obj": b"v 0 0 0\nf 1 2 3\n",
    "zero.obj": b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 0 1 2\n",
    "word.obj": b"v 0 0 x\n",
    "feed.obj": b"v 0 0 0\nf 1\f2 3\n",
    "short.obj": b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2\n",
    "binary.obj": b"v 0 0 0\0\n",
    "short.msh": b"123",
    "size.msh": np.array([4, 0, 0, 1], "<i4").tobytes(),
    "huge.msh": np.array([2**31 - 1, 2**31 - 1, 2**31 - 1, 2**31 - 1], "<i4").tobytes(),
    "model.dae": b"<COLLADA/>",
}


@pytest.mark.parametrize("name", BAD_MESHES)
def test_bad_mesh_files(tmp_path, name: str) -> None:
    (tmp_path / "meshes").mkdir()
    (tmp_path / "meshes" / name).write_bytes(BAD_MESHES[name])
    (tmp_path / "m.xml").write_text(MESH_MODEL.format(name))
    with pytest.raises(Exception, match=rf"m\.xml:1: mesh.*{name}"):
        tg.load(tmp_path / "m.xml")


def test_hfield_file(tmp_path) -> None:
    heights = np.array([[0, 1, 2], [3, 4, 8]], "<f4")
    (tmp_path / "h.bin").write_bytes(np.array([2, 3], "<i4").tobytes() + heights.tobytes())
    (tmp_path / "m.xml").write_text(
        '<mujoco><asset><hfield file="h.bin" size="1 1 1 1"/></asset><worldbody><geom type="hfield" hfield="h"/>'
        "</worldbody></mujoco>"
    )
    compare(tg.load(tmp_path / "m.xml"), mujoco.MjModel.from_xml_path(str(tmp_path / "m.xml")))
