#!/usr/bin/env bash
handle() { cat page.json >> leads.txt; echo >> leads.txt; }
ask() { curl --silent --fail --max-time 80 --header "Authorization: Bearer $LEADTAP_TOKEN" --dump-header headers.txt "$@"; }
link() { tr -d '\r' < headers.txt | sed -n 's/^[Ll]ink: <\(.*\)>; rel="next"$/\1/p'; }
page() { ask --header 'Prefer: wait=50' --output page.json "$(cat next.url)" && test -n "$(link)"; }

until test -s next.url
do ask --head --output page.json "$LEADTAP_URL/automation/new-leads" && link > next.url && test -s next.url || sleep 60
done

while true
do
  if page
  then
    test "$(cat page.json)" = '[]' || handle || exit
    link > next.new && mv next.new next.url
    sleep 4
  else sleep 60
  fi
done
