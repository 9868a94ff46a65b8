"""Sources of Debian's packages, fetched by this machine's apt from the package sources that it has, or that are named."""

import re
import shutil
import subprocess
from pathlib import Path

__all__ = ["fetch_source"]


def fetch_source(place, package, wanted=None, sources=None):
    """Fetches a package's upstream source into a folder, of the version that is wanted, or the newest that there is.

    `sources` is a line of an apt list of sources, to be used instead of the machine's. Returns the archive, which apt has checked, and its
    version; raises OSError or CalledProcessError. A mirror may lack some that its lists have, and has those of the upstream more often
    than the distribution's parts, which aren't fetched.
    """
    options = apt_options(place / "apt", sources)
    # a machine may have sources that have no source packages; the named one is needed
    apt("apt-get", "update", options, place, *(["--error-on=any"] if sources else []))
    listed = set(re.findall(r"(?m)^Version: (.*)$", apt("apt-cache", "showsrc", options, place, package)))
    order = sorted(listed, key=lambda full: [int(number) for number in re.findall(r"\d+", full)], reverse=True)
    if wanted:
        order = [full for full in order if full.startswith(f"{wanted}-")]
    failure = OSError(f"the package sources have no source of {package}" + (f" {wanted}" if wanted else ""))
    for full in order:
        print(f"fetching the source of {package} {full}", flush=True)
        version = full.partition("-")[0]
        try:
            apt("apt-get", "source", options, place, "--download-only", "--tar-only", "--only-source", f"{package}={full}")
        except subprocess.CalledProcessError as error:
            failure = error
            continue
        return next(place.glob(f"{package}_{version}.orig.tar.*")), version
    raise failure


def source_lists(text):
    """A file of apt's sources.list.d, in either format, for source packages only."""
    return re.sub(r"(?m)^Types:.*", "Types: deb-src", re.sub(r"(?m)^deb(?!-src)\b", "deb-src", text))


def apt_options(folder, sources):
    """Options of apt: the given package sources, or the machine's, read as sources of source packages; the machine's own lists stay."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "lists/partial").mkdir(parents=True)
    (folder / "sources.list.d").mkdir()
    if sources:
        (folder / "sources.list.d/named.list").write_text(f"{sources}\n")
    for path in [] if sources else [Path("/etc/apt/sources.list"), *Path("/etc/apt/sources.list.d").glob("*")]:
        if path.suffix in (".list", ".sources") and path.exists():
            (folder / "sources.list.d" / path.name).write_text(source_lists(path.read_text()))
    return [f"-oDir::State::Lists={folder / 'lists'}", "-oDir::Etc::SourceList=/dev/null",
            f"-oDir::Etc::SourceParts={folder / 'sources.list.d'}", "-oAPT::Sandbox::User=root"]


def apt(program, command, options, folder, *arguments):
    return subprocess.run([program, "-q", *options, command, *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout
