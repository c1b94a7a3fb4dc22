send() { curl -sS "$SERVER/message:send" -H 'Content-Type: application/json' -d "{\"message\": {\"messageId\": \"$1\", \"role\": \"ROLE_USER\", $2}}"; }

send "curl-ask-$$" '"parts": [{"text": "/transfer_money amount=5 to=curl"}]' >asked.json
APPROVAL=$(grep -oE '"id":"[^"]*\.a1"' asked.json | head -1 | cut -d'"' -f4)
DIGEST=$(grep -oE '"digest":"[^"]*"' asked.json | head -1 | cut -d'"' -f4)

send "curl-yes-$$" '"taskId": "'${APPROVAL%.a1}'", "parts": [{"data": {"type": "approval_response", "decisions":
  [{"id": "'$APPROVAL'", "digest": "'$DIGEST'", "decision": "approve"}]}}]'
