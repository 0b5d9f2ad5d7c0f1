#!/bin/bash
# Unpacks packages into the folder $1 with the machine's own apt, and installs nothing: no package data base, no file
# elsewhere; no root needed. The commands of $2 complete the folder, in which they run; the names of packages follow. What
# the machine has of their dependencies is not fetched.
set -euo pipefail
root=$1 work=$1.apt finish=$2
shift 2
exec 9>"$root.lock"; flock 9
[ ! -d "$root" ] || exit 0

rm -rf "$work" "$root.new"
mkdir -p "$work"/{lists/partial,cache/archives/partial} "$root.new"
apt=(apt-get -q -y -o Dir::State::Lists="$work/lists" -o Dir::State::extended_states="$work/extended"
  -o Dir::Cache="$work/cache" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= -o Debug::NoLocking=1
  -o Acquire::Languages=none -o Acquire::PDiffs=false -o Acquire::Retries=3
  -o APT::Install-Recommends=false -o APT::Update::Post-Invoke= -o APT::Sandbox::User="$(id -un)")
"${apt[@]}" update >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
"${apt[@]}" install --download-only "$@" >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
for deb in "$work"/cache/archives/*.deb; do
  dpkg -x "$deb" "$root.new"
done
cd "$root.new"
rm -rf usr/share/{doc,man,lintian,locale}
# What the packages' scripts would do, with paths within the folder.
find . -type l | while read -r link; do
  target=$(readlink "$link")
  case $target in /*) [ ! -e ".$target" ] || ln -sfn "$(realpath -m --relative-to="$(dirname "$link")" ".$target")" "$link" ;; esac
done
bash -euo pipefail -c "$finish"
cd /
mv "$root.new" "$root"
rm -rf "$work"
