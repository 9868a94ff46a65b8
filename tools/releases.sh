# shellcheck shell=bash
# The only place that names versions of the server and releases of Debian; bash
# scripts source it. Which server a checkout uses is found by tools/pg-config.

# Versions of the server that this is written for besides the machine's own, and
# the Debian release that has each, or the whole one and others that add to it.
declare -A releases=([15]=bookworm [17]=trixie [18]=forky [19]='sid experimental')

# Those that `make compile-versions` and `make check-versions` take by default.
# shellcheck disable=SC2034
promised_versions=(17 18)

archive_keys=/usr/share/keyrings/debian-archive-keyring.gpg

# Addresses that this machine has its own release's main packages from.
mirrors()
{
	local VERSION_CODENAME=
	# shellcheck source=/dev/null
	. /etc/os-release
	apt-get indextargets --format '$(REPO_URI) $(COMPONENT) $(RELEASE) $(CODENAME)' \
		'Created-By: Packages' |
		awk -v own="$VERSION_CODENAME" '$2 == "main" && ($3 == own || $4 == own) && !seen[$1]++ { print $1 }'
}
