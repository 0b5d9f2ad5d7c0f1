# Packs the programs of the engines that are installed here into $ARCHIVE, as the public images of the engines have them.
set -e
apt-cache depends --recurse --installed --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces --no-enhances $PACKAGES |
  grep '^[a-z]' | grep -v perl | sort -u >packages
links='/bin /sbin /lib /lib64 /usr/bin/java /etc/alternatives/java'
{ while read -r package; do dpkg-query -L "$package" 2>/dev/null || true; done <packages; printf '%s\n' $links; } |
  grep -vE '^/usr/share/(doc|man|locale|info|perl|fonts)|^/\.$|/jmods' | sed 's#^/\(bin\|sbin\|lib\|lib64\)/#/usr/\1/#' | sort -u |
  while read -r path; do [ ! -e "$path" ] || echo "${path#/}"; done >files
rm -rf tree && mkdir -p tree/opt/kafka tree/kafka tree/usr/share/elasticsearch/bin
for kafka in "$DISTRIBUTIONS"/kafka-*/; do ln -sfn "$kafka/jars" tree/opt/kafka/libs; ln -sfn "$kafka/jars" tree/kafka/libs; ln -sfn "$kafka/plugins" tree/kafka/connect; done
for search in "$DISTRIBUTIONS"/elasticsearch-*/; do ln -sfn "$search/classes" tree/usr/share/elasticsearch/classes; ln -sfn "$search/lib" tree/usr/share/elasticsearch/lib; ln -sfn "$search/home" tree/usr/share/elasticsearch/home; done
cat >tree/usr/share/elasticsearch/bin/elasticsearch <<'END'
#!/bin/sh
# Elasticsearch's library behind devstack's main class; the security module is not part of it.
home=/usr/share/elasticsearch
for setting; do
  shift
  case $setting in -Expack*) ;; *) set -- "$@" "${setting#-E}" ;; esac
done
exec java $ES_JAVA_OPTS -Dio.netty.noUnsafe=true -Dlog4j2.disableJmx=true -cp "$home/classes:$home/lib/*" \
  labplatform.search.SearchNode path.home=$home/home cluster.name=lab node.name=lab-1 "$@"
END
chmod 755 tree/usr/share/elasticsearch/bin/elasticsearch
tar -C / --no-recursion -cf system.tar -T files
tar -C tree --dereference --mode=a+rX -cf tree.tar opt/kafka kafka usr/share/elasticsearch
tar -Af system.tar tree.tar
gzip -1 <system.tar >"$ARCHIVE"
rm -rf tree tree.tar system.tar
