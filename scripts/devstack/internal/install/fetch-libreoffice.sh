#!/bin/bash
# Unpacks LibreOffice Writer without windows into the folder $1 with the machine's own apt, and installs nothing: no package
# data base, no file elsewhere; no root needed. $1/soffice starts it. The libraries that the machine has are not fetched.
set -euo pipefail
root=$1 work=$1.apt
exec 9>"$root.lock"; flock 9
[ ! -x "$root/soffice" ] || exit 0

rm -rf "$work" "$root.new"
mkdir -p "$work"/{lists/partial,cache/archives/partial} "$root.new"
apt=(apt-get -q -y -o Dir::State::Lists="$work/lists" -o Dir::State::extended_states="$work/extended"
  -o Dir::Cache="$work/cache" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= -o Debug::NoLocking=1
  -o Acquire::Languages=none -o Acquire::PDiffs=false -o Acquire::Retries=3
  -o APT::Install-Recommends=false -o APT::Update::Post-Invoke= -o APT::Sandbox::User="$(id -un)")
"${apt[@]}" update >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
"${apt[@]}" install --download-only libreoffice-writer-nogui >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
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
program=usr/lib/libreoffice/program
cp -rn usr/lib/libreoffice/share/.registry/. etc/libreoffice/registry/
sed -i 's#file:///usr/lib/libreoffice#${ORIGIN}/..#; s#file:///etc/libreoffice/registry#${BRAND_BASE_DIR}/share/registry#g' $program/fundamentalrc
sed -i 's#file:///etc/libreoffice#${ORIGIN}/../../../../etc/libreoffice#' $program/sofficerc
cat >soffice <<'EOS'
#!/bin/sh
root=$(dirname "$(readlink -f "$0")")
for libraries in "$root"/usr/lib/*-linux-gnu; do :; done
LD_LIBRARY_PATH=$root/usr/lib/libreoffice/program:$libraries exec "$root/usr/lib/libreoffice/program/soffice" "$@"
EOS
chmod +x soffice
cd /
rm -rf "$root"
mv "$root.new" "$root"
rm -rf "$work"
