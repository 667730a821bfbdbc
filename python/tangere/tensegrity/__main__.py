"""`python3 -m tangere.tensegrity`, behind `tangere tensegrity`."""

import sys

from tangere.tensegrity.command import main

sys.exit(main())
