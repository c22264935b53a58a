#!/usr/bin/env python3
"""Takes the pictures of the article Studio.md out of those of `run.py --pictures FOLDER`: `article.py FOLDER`, with Pillow installed.

Each gets as many colours as fit into 60 KB; `~dark` is the name that DocC shows in the dark theme.
"""

import os
import sys

from PIL import Image

TARGET = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../Sources/Mako/Mako.docc/Resources")
PICTURES = {"studio-grid": "grid", "studio-plan": "query-plan", "studio-pin": "pin-grid", "studio-time": "pin-time", "studio-storage": "storage"}
LIMIT = 60_000


def main(folder):
    for name, source in PICTURES.items():
        for theme, ending in (("light", ""), ("dark", "~dark")):
            picture = Image.open(os.path.join(folder, f"{source}-{theme}.png")).convert("RGB")
            path = os.path.join(TARGET, f"{name}{ending}.png")
            for colours in (128, 64, 32, 16):
                picture.quantize(colours, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(path, optimize=True)
                if os.path.getsize(path) < LIMIT:
                    break
            print(f"{name}{ending}.png: {colours} colours, {os.path.getsize(path):,} bytes")


if __name__ == "__main__":
    main(sys.argv[1])
