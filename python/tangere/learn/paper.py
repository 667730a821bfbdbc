"""Figures of Zhong, Dey and Chakraborty (NeurIPS 2021) and of its published notebooks, beside which runs are shown."""

from __future__ import annotations

TASKS = ("BP5-e", "BP5", "CP3-e", "CP3", "BD5", "Rope-200", "Gyro-e", "Gyro")

# The paper's Fig. 3 as read off (2 to 4 % low): columns CM-CLNN, CM-CHNN, CMr-CLNN, CMr-CHNN, MLP-CD-CLNN, IN-CP-CLNN,
# IN-CP-SP
FIG3 = {
    "BP5-e": (2.3e-5, 2.4e-5, 2.0e-3, 2.0e-3, 1.0, 0.91, 0.89),
    "BP5": (0.026, 0.026, 0.033, 0.032, 0.92, 0.98, 0.98),
    "CP3-e": (2.8e-3, 1.2e-3, 0.014, 0.0145, 0.15, 6.8, 0.89),
    "CP3": (3.8e-3, 2.4e-3, 3.3e-3, 4.7e-3, 0.15, 0.62, 0.62),
    "BD5": (0.12, 0.12, 0.084, 0.084, 0.71, 0.62, 0.71),
    "Rope-200": (3.1e-3, 6.5e-3, 4.3e-3, 7.5e-3, 5.9e-3, 6.7e-3, 8.7e-3),
    "Gyro-e": (1.9e-3, 1.8e-3, 0.013, 0.013, 0.20, 0.74, 0.85),
    "Gyro": (2.3e-3, 2.1e-3, 5.1e-3, 4.6e-3, 0.18, 0.64, 0.74),
}
FIG4 = (
    "Paper, step 50: BP5-e CM 1e-3 to 3e-3, CMr 0.1; BP5 0.2; CP3-e CM 0.01 to 0.03, CMr 0.08; CP3 0.02 to 0.03; BD5"
    " 0.4; Rope 0.03 to 0.06, baselines 0.1; Gyro-e CM 0.03 to 0.05, CMr 0.2; Gyro 0.05 to 0.1; IN-CP-SP about 1."
    " IN-CP-CLNN diverges within 0.12 s on CP3 and Gyro, MLP-CD-CLNN within 0.4 s."
)
FIG5 = (
    "Paper: CM stays within 0.01 J. CMr falls from -1.71 J to -1.73 J in one collision (CP3-e) and from 2.08 J to"
    " 1.97 J in three (Gyro-e)."
)
# Table 2: mu and e of CM-CLNN, CM-CHNN, CMr-CLNN, CMr-CHNN
TABLE2 = {
    "BP5-e": ("0.000, 1.000",) * 4,
    "CP3-e": ("0.000, 1.000", "0.000, 1.000", "0.002, 1.000", "0.002, 1.000"),
    "CP3": ("0.500, 0.005", "0.500, 0.004", "0.500, 0.023", "0.500, 0.023"),
    "Rope-200": ("0.026, 0.000", "0.017, 0.000", "0.037, 0.011", "0.046, 0.019"),
    "Gyro-e": ("0.000, 1.000", "0.000, 1.000", "0.002, 1.000", "0.002, 1.000"),
    "Gyro": ("0.100, 0.800", "0.100, 0.800", "0.099, 0.892", "0.099, 0.893"),
}
TABLE3 = {"Rope-50": 0.869, "Rope-100": 1.563, "Rope-200": 3.225}
# Fig. 6, validation loss of BP5 with 25 to 800 trajectories
SAMPLES = (25, 50, 100, 200, 400, 800)
FIG6 = {
    "CM-CLNN": (0.00741, 0.00827, 0.00839, 0.00839, 0.00762, 0.00774),
    "MLP-CD-CLNN": (0.0138, 0.0138, 0.0128, 0.0117, 0.0108, 0.0107),
    "IN-CP-SP": (0.0144, 0.0128, 0.0122, 0.0130, 0.0122, 0.0131),
}
# sum of relative errors by the length of the rope
ROPES = {
    "Rope-50": {"CM-CLNN": 0.00197, "MLP-CD-CLNN": 0.01847, "IN-CP-CLNN": 0.02306, "IN-CP-SP": 0.02932},
    "Rope-100": {"CM-CLNN": 0.00094, "MLP-CD-CLNN": 0.01081, "IN-CP-CLNN": 0.01268, "IN-CP-SP": 0.01374},
    "Rope-200": {"CM-CLNN": 0.00320, "MLP-CD-CLNN": 0.00598, "IN-CP-CLNN": 0.00687, "IN-CP-SP": 0.00894},
}
# m_i / m_1
MASSES = {
    ("BP5-e", "CM-CLNN"): "1, 1, 1.0002, 1.0003",
    ("BP5", "CM-CLNN"): "2.0001, 6.0036, 8.0014, 10.0024",
    ("BP5", "CM-CHNN"): "2.0005, 6.0020, 8.0015, 10.0029",
    ("BP5", "CMr-CLNN"): "1.9998, 6.0004, 8.0033, 9.9997",
    ("BP5", "CMr-CHNN"): "2.0002, 6.0001, 7.9985, 10.0010",
    ("CP3-e", "CM-CLNN"): "0.6500, 0.7502",
    ("CP3-e", "CMr-CLNN"): "0.6500, 0.7521",
    ("CP3", "CM-CLNN"): "2.0006, 1.4990",
    ("BD5", "CM-CLNN"): "3.300, 10.51, 14.01, 17.80",
}
# mu and e of CM-CLNN with noise of 0.01 and 0.05, and with data of the LCP (the latter with the flag of CMr)
NOISE = {
    "BP5-e": ("0.0000, 0.927", "0.0000, 0.037"),
    "CP3-e": ("0.0009, 1.000", "0.0000, 0.998"),
    "CP3": ("0.495, 0.018", "0.435, 0.063"),
}
LCP = {"BP5-e": "0.0002, 0.9999", "CP3-e": "0.0025, 1", "CP3": "0.5004, 0.0209", "Gyro": "0.0998, 0.8222"}
# mu and e of CMr-CLNN by eps
EPS = {
    "CP3": {0.1: "0.5006, 0.180", None: "0.5004, 0.0229", 0.001: "0.4998, 0.0067", -1.0: "0.497, 0.4525; eps 0.615"},
    "Gyro": {0.1: "0.0995, 0.8855", None: "0.0994, 0.8918", 0.001: "0.0999, 0.8113", -1.0: "0.0998, 0.8612; eps 0.062"},
}
