#!/bin/sh
# Sends new customers of a PostgreSQL database to Leadtap: docs/getting-leads-in.md, "A cron job from another database".
set -eu
leads=$(psql "$CRM_DATABASE_URL" --no-psqlrc --quiet --tuples-only --no-align --command "
  SELECT row_to_json(lead) FROM (
    SELECT 'crm-' || id AS id, first_name AS \"firstName\", last_name AS \"lastName\", email
    FROM customers
    WHERE created_at > now() - interval '1 day'
    ORDER BY created_at) lead")
test -n "$leads" || exit 0
printf '%s\n' "$leads" | while read -r lead; do
  answer=$(printf '%s' "$lead" | curl --silent --show-error --write-out ' %{http_code}' \
    --retry 5 --retry-connrefused "$LEADTAP_URL/leads" \
    -H "Authorization: Bearer $WRITE_TOKEN" -H "Content-Type: application/json" --data-binary @-)
  status="${answer##* }"
  if test "$status" = 200 || test "$status" = 201; then continue; fi
  echo "not stored: ${lead%%,*}: $answer" >&2
  test "$status" = 422 || exit 1
done
