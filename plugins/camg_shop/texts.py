"""How a full episode reads: brief, confirmations, and the reminder that asks for a checkpoint."""

from __future__ import annotations

from collections.abc import Mapping

from camg_shop.browser import Page
from camg_shop.pages import render
from camg_shop.plan import Plan, Product, Store, Visit, dollars
from camg_shop.session import ShopSession

_RULES = """\
You shop for {customer}: {sessions} purchases, one per session, in this order. Each session has approved listings, and \
exactly one of them is what the customer wants, by the session's request and by what earlier sessions told. What was \
said or bought before is not repeated. A wrong purchase ends the task.
In the store: search for a listing's title (on the search page only), click its product id on the results page, then \
click Buy Now; options need not be chosen. You may ask the customer. After each right purchase but the last you save a \
checkpoint; then browser, cart and transcript are cleared, while customer, money and your files stay.
Total budget {budget}; {reserved} of it is reserved for earlier purchases (the dearest listing of each)."""

_REMINDER = """\
{occasion} Spend your next response on creating or updating {path} with one filesystem action (at most {limit} bytes). \
Keep: the objective (purchase number and what comes next), decisive evidence (what the customer said, what you bought \
and its deciding attribute), workspace paths, the next action. The command has this shape:
mkdir -p {folder} && cat > {path} <<'EOF'
objective: …
decisive_evidence: …
workspace_paths: …
next_action: …
EOF"""


class FullStyle:
    """Texts of full episodes; ``mode`` is ``simple`` or ``text_rich``."""

    def __init__(self, mode: str) -> None:
        self._mode = mode

    def brief(self, session: ShopSession) -> str:
        """Rules, customer, money, purchase number, request, approved titles, and the page. Never a product id."""
        plan, visit = session.plan, session.visit
        rules = _RULES.format(
            customer=plan.customer,
            sessions=session.sessions,
            budget=dollars(plan.budget),
            reserved=dollars(session.reserved),
        )
        products = [session.product(product_id) for product_id in visit.listings]
        listed = "\n".join(f"{place}. {product.title}" for place, product in enumerate(products, start=1))
        head = f"Purchase {session.index + 1} of {session.sessions}: {products[0].category}"
        page = session.page_text()
        request = f"{head}\nRequest: {visit.request}\nApproved listings:\n{listed}"
        return f"{rules}\n\n{request}\n\nThe session opens on this page:\n{page}"

    def page(self, page: Page, store: Store) -> str:
        """WebShop's text page."""
        return render(page, store, self._mode)

    def bought(self, session: ShopSession, product: Product) -> str:
        """Confirms a right purchase."""
        done = (
            f"Purchase {session.index + 1} of {session.sessions} is right: {product.title}, {dollars(product.price)}."
        )
        return f"{done} This session is closed." if session.closed else f"{done} All purchases are made."

    def wrong(self) -> str:
        """Says nothing about what would have been right."""
        return "This purchase is not what the customer wanted. The task ends here."

    def invalid(self, reason: str) -> str:
        """Why a native action did nothing."""
        return f"Invalid action: {reason}"

    def fault(self, shown: str) -> str:
        """The loop's own sentence names the parse fault."""
        return shown

    def reply(self, text: str) -> str:
        """The customer's answer."""
        return f"Customer: {text or 'I have nothing to add to my request.'}"

    def reminder(self, session: ShopSession, path: str, limit: int) -> str:
        """The fixed request for a checkpoint."""
        occasion = (
            f"Session {session.index + 1} of {session.sessions} ends and its transcript will be cleared."
            if session.closed
            else "The context is nearly full and will be replaced."
        )
        folder, _, _ = path.rpartition("/")
        return _REMINDER.format(occasion=occasion, path=path, limit=limit, folder=folder or ".")

    def labels(self, visit: Visit, plan: Plan) -> Mapping[str, str]:
        """Listings are clicked by id alone."""
        return {}

    def opening(self, visit: Visit) -> tuple[str, ...]:
        """Each session starts on the search page."""
        return ()
