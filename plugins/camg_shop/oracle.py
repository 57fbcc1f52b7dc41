"""The oracle: solves every task of every split through its memory files, from the texts that a policy sees.

Its one privilege is to understand the requests (``camg_shop.reading``). What a session tells it lives in the ledger,
the ledger in ``.agent_memory/CONTINUATION.md``; after each replacement it starts from nothing and reads the file.
"""

from __future__ import annotations

import re

from camg.errors import DataError
from camg.protocols import Dialect, Habit, Script
from camg.types import Task
from camg_shop.browser import BACK, BUY
from camg_shop.demonstrator import PERFECT, pocket_script
from camg_shop.follow import CONTINUATION, FOLDER, Follower, click, shell
from camg_shop.reading import Ledger, axis_of, must_ask, value_of

_CUSTOMER = re.compile(r"You shop for (.+?): \d+ purchases")
_HEAD = re.compile(r"^Purchase (\d+) of (\d+): ", re.MULTILINE)
_REQUEST = re.compile(r"^Request: (.+?)\nApproved listings:\n(.+?)\n\n", re.DOTALL | re.MULTILINE)
_LISTING = re.compile(r"^\d+\. (.+)$", re.MULTILINE)
_REPLY = re.compile(r"Customer: (.+)")
_FACT = re.compile(r"^fact (\w+): (.+)$", re.MULTILINE)
_CLOSED = "This session is closed."
_REMINDER = "Spend your next response on creating or updating"
_MARKS = re.compile(r"\[(?:clicked )?button_?\]")
_TEMPLATE = re.compile(r"<\|[^|>]*\|>|</?tool_response>")  # what chat templates put around a message


def oracle(task: Task, seed: int, dialect: Dialect, habit: Habit | None = None) -> Script:
    """A script that solves ``task`` from its texts; ``habit`` serves pocket tasks, others go by files.

    Raises :class:`DataError` for a task of another environment.
    """
    style = task.payload.get("style")
    if style == "pocket":
        return pocket_script(task, seed, dialect, PERFECT, habit)
    if style == "full":
        return _Oracle(dialect)
    raise DataError(f"Expected a task of shop with sessions, got {task.id!r}.")


class _Oracle:
    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._follower = Follower()
        self._ledger = Ledger("")
        self._titles: list[str] = []
        self._request = ""
        self._number = ""
        self._unread = False  # a note exists that this context has not shown yet
        self._pending = False
        self._asked = False
        self._bought = False
        self._page: list[str] = []  # the visible strings of the last page

    def __call__(self, context: str) -> str:
        self._observe(context)
        return self._follower.say(self._act())

    def _observe(self, context: str) -> None:
        news = self._follower.read(context)
        if news.fresh:
            self._open(news.text)
        for name, value in _FACT.findall(news.text):
            self._ledger.facts[name] = value
        if reply := _REPLY.search(news.text):
            self._ledger.read(self._request, reply.group(1))
        self._bought = self._bought or _CLOSED in news.text
        if _REMINDER in news.text:
            self._pending = True
        visible = _TEMPLATE.sub("\n", news.text)
        strings = [part.strip() for part in re.split(r"\n| \[SEP\] ", _MARKS.sub("", visible))]
        if news.fresh or BACK in strings or "WebShop" in strings:
            self._page = strings
        if "Only the search page can search" in news.text:
            self._page = [BACK]  # a context replaced within a session: the browser is still deeper in
        if page := self._ledger.facts.pop("page", ""):
            self._page = page.split(" | ")  # as the note that was just read tells

    def _open(self, text: str) -> None:
        """A fresh context: all that is known is what it says."""
        customer, head, request = _CUSTOMER.search(text), _HEAD.search(text), _REQUEST.search(text)
        if customer is None or head is None or request is None:
            raise DataError("Expected a brief of Shop in the context, found none.")
        self._ledger = Ledger(customer.group(1))
        self._number, self._request = head.group(1), request.group(1)
        self._titles = _LISTING.findall(request.group(2))
        self._unread = CONTINUATION in text.partition("The session opens on this page:")[2]
        self._pending, self._asked, self._bought = False, False, False

    def _act(self) -> str:
        if self._pending:
            return self._note()
        if self._unread:
            self._unread = False
            return shell(self._dialect, f"cat {CONTINUATION}")
        if must_ask(self._request) and not self._asked:
            self._asked = True
            return self._dialect.render("ask", {"question": "Which one do you like best?"})
        return self._shop(self._choose())

    def _values(self) -> list[str]:
        axis = axis_of(self._request) or ""
        return [value_of(title, axis) for title in self._titles]

    def _choose(self) -> str:
        self._ledger.read(self._request)
        admitted = self._ledger.admits(self._request, self._values())
        return self._titles[admitted[0]] if admitted else self._titles[0]

    def _shop(self, title: str) -> str:
        """One step towards buying ``title`` from whatever page is open."""
        page = self._page
        if BUY in page:
            return click(self._dialect, BUY if title in page else BACK)
        if title in page and BACK in page:
            return click(self._dialect, page[page.index(title) - 1])  # a listing's id stands before its title
        if BACK in page:
            return click(self._dialect, BACK)
        return self._dialect.render("search", {"query": title})

    def _useful(self, title: str) -> list[str]:
        """What the open page offers on the way to ``title``, for a note that is written within a session."""
        page = self._page
        if BUY in page:
            return [BUY, title] if title in page else [BACK]
        return [BACK, page[page.index(title) - 1], title] if title in page else [BACK]

    def _note(self) -> str:
        """The ledger as a note; after a purchase it knows the session's right value: it was bought."""
        if self._bought:
            title = self._choose()
            self._ledger.bought(self._request, self._values()[self._titles.index(title)])
        elif BACK in self._page:
            self._ledger.facts["page"] = " | ".join(self._useful(self._choose()))
        # the number makes each note differ from the one before, as a checkpoint must
        self._ledger.facts["note"] = str(int(self._ledger.facts.get("note", "0")) + 1)
        facts = [f"fact {name}: {value}" for name, value in self._ledger.facts.items()]
        lines = [
            f"objective: purchase {self._number} is {'made; go on with the next' if self._bought else 'open'}",
            "decisive_evidence:",
            *facts,
            f"workspace_paths: {CONTINUATION}",
            "next_action: read this file, choose by the request, search the title",
        ]
        text = "\n".join(lines)
        return shell(self._dialect, f"mkdir -p {FOLDER} && cat > {CONTINUATION} <<'EOF'\n{text}\nEOF")
