#!/usr/bin/env bash
handle() { cat page.json >> leads.txt; echo >> leads.txt; }
ask() {
  : > headers.txt
  curl --silent --show-error --fail-with-body --max-time 80 --header "Authorization: Bearer $LEADTAP_TOKEN" \
    --dump-header headers.txt --output page.json "$@" || explain
}
# No retry helps when the token or the address is wrong.
explain() {
  if grep --quiet '^HTTP/[^ ]* 40[0-7]' headers.txt; then cat page.json >&2; echo >&2; exit 1; fi
  return 1
}
link() { tr -d '\r' < headers.txt | sed -n 's/^[Ll]ink: <\(.*\)>; rel="next"$/\1/p'; }
page() { ask --header 'Prefer: wait=50' "$(cat next.url)" && test -n "$(link)"; }

until test -s next.url
do ask "$LEADTAP_URL/automation/new-leads" && link > next.url && test -s next.url || sleep 60
done

while true
do
  if page
  then
    # Each command of handle must succeed.
    test "$(cat page.json)" = '[]' || (set -e; handle)
    test $? = 0 || exit
    link > next.new && mv next.new next.url
    sleep 4
  else sleep 60
  fi
done
