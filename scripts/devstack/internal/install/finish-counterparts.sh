# Exim wants the user that its package creates: here it is the one that starts it, or one without rights.
chmod u-s usr/sbin/exim4
cat >exim <<'EOS'
#!/bin/sh
root=$(dirname "$(readlink -f "$0")") own=$(id -u)
[ "$own" != 0 ] || own=65534 # it gives up the rights of root
users=$root/users.$own
if [ ! -d "$users" ]; then
  new=$(mktemp -d "$users.XXXXXX") && chmod 755 "$new"
  printf 'root:x:0:0::/:/bin/false\nDebian-exim:x:%s:%s::/:/bin/false\n' "$own" "$own" >"$new/passwd"
  printf 'root:x:0:\nDebian-exim:x:%s:\n' "$own" >"$new/group"
  mv -T "$new" "$users" 2>/dev/null || rm -rf "$new" # another one was first
fi
for libraries in "$root"/usr/lib/*-linux-gnu; do :; done
export NSS_WRAPPER_PASSWD=$users/passwd NSS_WRAPPER_GROUP=$users/group
LD_PRELOAD=$libraries/libnss_wrapper.so LD_LIBRARY_PATH=$libraries exec "$root/usr/sbin/exim4" "$@"
EOS
cat >nginx <<'EOS'
#!/bin/sh
root=$(dirname "$(readlink -f "$0")")
for libraries in "$root"/usr/lib/*-linux-gnu; do :; done
LD_LIBRARY_PATH=$libraries exec "$root/usr/sbin/nginx" "$@"
EOS
chmod +x exim nginx
