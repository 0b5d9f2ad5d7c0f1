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
