# Unpacks a bundle and starts it. Any Python has to read this, so that an old one can say that it is old.
import sys

OLD = "the checks need Python 3.11 or newer, this sandbox has " + sys.version.split()[0]
if sys.version_info < (3, 11):
    if len(sys.argv) > 1 and sys.argv[1] == "checks":
        sys.stdout.write('SPHYNX_VALIDATOR_RESULT={"passed":false,"message":"' + OLD + '"}\n')
    else:
        sys.stderr.write(OLD + "\n")
    sys.exit(1)
import io
import os
import zipfile
import zlib

here = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(here, "bundle.bin"), "rb") as f:
    zipfile.ZipFile(io.BytesIO(zlib.decompress(f.read()))).extractall(here)
sys.path.insert(0, os.path.join(here, "lib"))
import wire_program  # pyright: ignore[reportMissingImports]  (it lies in lib/ where this runs)

wire_program.main(here)
