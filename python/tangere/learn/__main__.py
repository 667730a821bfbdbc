"""`python3 -m tangere.learn`: implements `tangere learn`."""

import sys

from tangere.learn.command import main

sys.exit(main())
