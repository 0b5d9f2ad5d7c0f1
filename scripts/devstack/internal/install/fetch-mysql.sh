#!/bin/bash
# Unpacks a real MySQL server and its clients (in bin) into the folder $1 with the machine's own apt, and installs nothing: no package data base, no
# service, no file elsewhere; no root needed. Debian's stable releases carry MariaDB alone, so the server and what it
# stands on come from the suite $2 of the mirror that the machine's apt sources name, checked with Debian's keyring.
set -euo pipefail
root=$1 suite=$2 work=$1.apt
packages=(mysql-server-core mysql-client-core)
exec 9>"$root.lock"; flock 9
[ ! -e "$root/bin/mysqldump" ] || exit 0

. /etc/os-release
mirror=$(apt-get indextargets --no-release-info --format '$(RELEASE) $(SITE)' 'Created-By: Packages' |
  awk -v r="${VERSION_CODENAME:-}" '$1==r {print $2; exit}')
keyring=$(dpkg -L debian-archive-keyring 2>/dev/null | grep -m1 '/debian-archive-keyring\.\(gpg\|pgp\)$' || true)
[ -n "$mirror" ] || { echo "the apt sources name no mirror for ${VERSION_CODENAME:-this release}: MySQL is fetched on Debian only; name a server in LAB_MYSQL_DSN" >&2; exit 1; }
[ -n "$keyring" ] || { echo "install debian-archive-keyring first" >&2; exit 1; }

rm -rf "$work" "$root.new"
mkdir -p "$work"/{lists/partial,cache/archives/partial} "$root.new"
: >"$work/status"
echo "deb [signed-by=$keyring] $mirror $suite main" >"$work/sources.list"
apt=(apt-get -q -y
  -o Dir::Etc::SourceList="$work/sources.list" -o Dir::Etc::SourceParts=- -o Dir::Etc::Preferences=- -o Dir::Etc::PreferencesParts=-
  -o Dir::State="$work" -o Dir::State::Lists="$work/lists" -o Dir::State::status="$work/status" -o Dir::State::extended_states="$work/extended"
  -o Dir::Cache="$work/cache" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= -o APT::Architectures="$(dpkg --print-architecture)"
  -o Acquire::Languages=none -o Acquire::PDiffs=false -o Acquire::Retries=3
  -o APT::Install-Recommends=false -o APT::Update::Post-Invoke= -o APT::Sandbox::User="$(id -un)")
"${apt[@]}" update >"$work/log" 2>&1
# apt only warns of a list that is out of reach or not signed.
if grep -E '^(W|E|Err)' "$work/log" >&2; then exit 1; fi
"${apt[@]}" install --download-only "${packages[@]}" >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
for deb in "$work"/cache/archives/*.deb; do
  case ${deb##*/} in perl*|libperl*|systemd*) continue ;; esac
  dpkg -x "$deb" "$root.new"
  dpkg-deb -W --showformat='${Package} ${Version}\n' "$deb" >>"$work/packages.txt"
done
rm -rf "$root.new"/usr/share/{doc,man,lintian,locale}
[ -e "$root.new/lib" ] || ln -s usr/lib "$root.new/lib"
sort -u "$work/packages.txt" >"$root.new/packages.txt"
mkdir "$root.new/bin"
for client in mysql mysqldump; do # run with the libraries that came with them, as the server is
  cat >"$root.new/bin/$client" <<'EOF'
#!/bin/sh
usr=$(dirname "$(readlink -f "$0")")/../usr
loader=$(echo "$usr"/lib/*-linux-gnu*/ld-linux*.so.*)
exec "$loader" --library-path "${loader%/*}" "$usr/bin/${0##*/}" "$@"
EOF
  chmod +x "$root.new/bin/$client"
done
rm -rf "$root"
mv "$root.new" "$root"
rm -rf "$work"
