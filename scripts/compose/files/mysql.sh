set -e
cat >/tmp/users.sql <<END
CREATE DATABASE IF NOT EXISTS lab CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci;
CREATE USER IF NOT EXISTS lab@'%' IDENTIFIED BY '$DB_PASSWORD';
GRANT ALL ON lab.* TO lab@'%';
CREATE USER IF NOT EXISTS cdc_connector@'%' IDENTIFIED BY '$CONNECTOR_PASSWORD';
GRANT RELOAD, SHOW DATABASES, REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO cdc_connector@'%';
GRANT SELECT, LOCK TABLES ON lab.* TO cdc_connector@'%';
GRANT CREATE, INSERT, UPDATE, DELETE ON lab.cdc_signal TO cdc_connector@'%';
GRANT CREATE, INSERT, UPDATE ON lab.cdc_heartbeat TO cdc_connector@'%';
END
[ -d /data/mysql ] || mariadb-install-db --no-defaults --datadir=/data --auth-root-authentication-method=normal --skip-test-db >/dev/null
exec mariadbd --no-defaults --datadir=/data --socket=/tmp/mysql.sock --pid-file=/tmp/mysql.pid --tmpdir=/tmp --init-file=/tmp/users.sql \
  --bind-address=0.0.0.0 --skip-name-resolve --character-set-server=utf8mb4 --collation-server=utf8mb4_unicode_ci \
  --server-id=1 --log-bin=binlog --binlog-format=ROW --binlog-row-image=FULL --max-connections=400 --max-allowed-packet=64M
