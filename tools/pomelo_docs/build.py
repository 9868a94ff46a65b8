"""Makes the web site build/docs/site of docs/: `make docs`.

What mkdocs needs is installed once into build/docs-env (requirements.txt); after that nothing is fetched, neither by a
build nor by a reader of the site. The reference is made of a cluster that lives as long as the build.
"""

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import venv

from pomelo_cluster import Cluster

from . import pages, reference

ROOT = os.path.dirname(pages.DOCS)
BUILD = os.path.join(ROOT, "build", "docs")
ENVIRONMENT = os.path.join(ROOT, "build", "docs-env")
REQUIREMENTS = os.path.join(os.path.dirname(__file__), "requirements.txt")
FIRST_PORT = 9900


def install():
    """Installs mkdocs, unless the environment has what requirements.txt says."""
    with open(REQUIREMENTS, "rb") as file:
        wanted = hashlib.sha256(file.read()).hexdigest()
    stamp = os.path.join(ENVIRONMENT, "installed")
    if os.path.exists(stamp):
        with open(stamp, encoding="ascii") as file:
            if file.read() == wanted:
                return
    venv.create(ENVIRONMENT, with_pip=True, clear=True)
    subprocess.run([os.path.join(ENVIRONMENT, "bin", "pip"), "install", "-q", "--no-deps", "--disable-pip-version-check",
                    "-r", REQUIREMENTS], check=True)
    with open(stamp, "w", encoding="ascii") as file:
        file.write(wanted)


def write(page, text):
    path = os.path.join(BUILD, "source", page)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def prepare():
    """Fills build/docs/source: the pages of docs/, and those of the reference."""
    shutil.rmtree(BUILD, ignore_errors=True)
    shutil.copytree(pages.DOCS, os.path.join(BUILD, "source"))
    for page in pages.names():
        write(page, pages.for_site(page, pages.text_of(page)))
    with Cluster.temporary("docs", FIRST_PORT, workers=0, settings={"fsync": "off"}) as cluster:
        inert = [entry.name for entry in pages.compatibility() if (entry.kind, entry.status) == ("setting", "without effect")]
        for page, text in reference.pages(cluster.coordinator, inert).items():
            write(page, text)


def main():
    """The command line; returns the exit status."""
    parser = argparse.ArgumentParser(prog="tools/docs", description="builds the manual as a web site in build/docs/site")
    parser.add_argument("--reference", action="store_true", help="only make the pages of the reference, in build/docs/source/reference")
    options = parser.parse_args()
    prepare()
    if options.reference:
        return 0
    install()
    done = subprocess.run([os.path.join(ENVIRONMENT, "bin", "mkdocs"), "build", "--strict", "--quiet", "--config-file",
                           os.path.join(ROOT, "mkdocs.yml")], check=False)
    if done.returncode == 0:
        print(f"{os.path.relpath(os.path.join(BUILD, 'site', 'index.html'))}: the manual")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
