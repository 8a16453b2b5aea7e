"""A generated client: a session, a message, its answer, an error."""

import json
import os
import time
from uuid import UUID

from everturn_client import AuthenticatedClient
from everturn_client.api.messages import messages_post
from everturn_client.api.sessions import sessions_create, sessions_get
from everturn_client.api.turns import turns_list
from everturn_client.models import CreateBody, PostBody, Problem

client = AuthenticatedClient(base_url=os.environ["EVERTURN_URL"], token=os.environ["EVERTURN_TOKEN"])

created = sessions_create.sync(client=client, body=CreateBody(title="A client in Python"))
assert not isinstance(created, Problem), created
posted = messages_post.sync(created.session, client=client, body=PostBody(text="say 3 of heron"))
assert not isinstance(posted, Problem), posted

text = ""
for _ in range(400):
    page = turns_list.sync(created.session, client=client)
    text = json.dumps(page.to_dict())
    if "heron.3" in text:
        break
    time.sleep(0.05)
assert "heron.3" in text, text

missing = sessions_get.sync(UUID(int=1), client=client)
assert isinstance(missing, Problem) and missing.code == "session_not_found", missing
print("ok")
