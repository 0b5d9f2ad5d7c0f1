#!/bin/sh
# Prints the Secrets that `helm install lab charts/lab` reads by default, for a namespace that has none of them yet:
#
#   DB_PASSWORD=… CONNECTOR_DB_PASSWORD=… MONGO_URI=… ES_API_KEY=… JWT_SECRET=… sh docs/secrets.sh | kubectl -n lab create -f -
#
# A key is taken from the variable of the service (RERUN_DB_PASSWORD) or else from the one for all (DB_PASSWORD). What only the
# platform itself must know is made up; a key in brackets below is left out when it has no variable. Where another variable is
# missing, nothing is printed but its name. `create` refuses Secrets that exist: docs/operations.md says how to rotate those.
set -eu

LIST='
gateway-secrets GATEWAY SERVICE_TOKEN_SECRET
search-secrets SEARCH SERVICE_TOKEN_SECRET DB_PASSWORD [ES_PASSWORD] [ES_API_KEY] [RATE_LIMIT_KV_URL]
cdc-secrets CDC SERVICE_TOKEN_SECRET DB_PASSWORD [ES_PASSWORD] [ES_API_KEY] [JWT_SECRET] [PY2_JWT_SECRET] [EPHEMERAL_JWT_SECRET]
cdc-connector-secrets CDC CONNECTOR_DB_PASSWORD [KAFKA_PASSWORD]
externaledit-secrets EXTERNAL_EDIT SERVICE_TOKEN_SECRET TOKEN_SECRET DB_PASSWORD [AWS_ACCESS_KEY_ID] [AWS_SECRET_ACCESS_KEY] [BLOB_SIGNING_SECRET]
rerun-secrets RERUN SERVICE_TOKEN_SECRET DB_PASSWORD MONGO_URI
taskqueue-secrets TASKQUEUE SERVICE_TOKEN_SECRET DB_PASSWORD [REDIS_PASS] [REDIS_SENTINEL_PASS] [WEBHOOK_SECRET] [CALLBACK_SECRET] [ADMIN_TOKEN]
cellcounter-secrets CELL_COUNTER SERVICE_TOKEN_SECRET DB_PASSWORD
callout-secrets CALLOUT SERVICE_TOKEN_SECRET DB_PASSWORD
billsplit-secrets BILL_SPLIT SERVICE_TOKEN_SECRET DB_PASSWORD
notifications-secrets NOTIFICATIONS SERVICE_TOKEN_SECRET TOPIC_KEY DB_PASSWORD [FCM_CREDENTIALS]
'
PEOPLE='[JWT_SECRET] [PY2_JWT_SECRET] [EPHEMERAL_JWT_SECRET] [KV_PASS] [KV_SENTINEL_PASS]' # of services that people call
ALL='[OPENTELEMETRY_API_KEY] [ERROR_REPORTING_DSN]'

random() { od -An -N24 -tx1 /dev/urandom | tr -d ' \n'; }
: "${SERVICE_TOKEN_SECRET:=$(random)}" "${EXTERNAL_EDIT_TOKEN_SECRET:=$(random)}" "${NOTIFICATIONS_TOPIC_KEY:=$(random)}"

# The value of a key, or nothing: of the service, else of all.
value() { eval "printf '%s' \"\${$1_$2:-\${$2:-}}\""; }

secrets=$(
  printf '%s' "$LIST" | while read -r name prefix keys; do
    [ -n "$name" ] || continue
    case $name in
    cdc-connector-secrets) ;;
    gateway-secrets | cdc-secrets) keys="$keys $ALL" ;;
    *) keys="$keys $PEOPLE $ALL" ;;
    esac
    printf -- '---\napiVersion: v1\nkind: Secret\nmetadata: {name: %s}\ntype: Opaque\ndata:\n' "$name"
    for key in $keys; do
      plain=${key#[}
      plain=${plain%]}
      text=$(value "$prefix" "$plain")
      if [ -n "$text" ]; then
        printf '  %s: %s\n' "$plain" "$(printf '%s' "$text" | base64 | tr -d '\n')"
      elif [ "$plain" = "$key" ]; then
        printf 'missing %s_%s\n' "$prefix" "$key"
      fi
    done
  done
)
missing=$(printf '%s\n' "$secrets" | sed -n 's/^missing //p')
if [ -n "$missing" ]; then
  echo "Set these variables, or those without the name of the service:" $missing >&2
  exit 1
fi
printf '%s\n' "$secrets"
