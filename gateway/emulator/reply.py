"""What a call replies: the JSON object, or a part of it, that an HTTP answer has for a body."""

Reply = dict[str, object]
