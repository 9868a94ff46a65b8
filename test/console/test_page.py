"""The page of tools/console, in Chromium: what it shows of real servers, and how it looks."""

import os
import re
import threading

import psycopg
import pytest

from conftest import ODD, PATIENCE, SETTINGS, has_statements
from harness import servers
from harness.gateways import Gateway
from harness.statement import Statement

SECTIONS = ["health", "nodes", "tables", "statements", "waits", "moves", "jobs", "tenants", "gateways", "slow"]
PICTURES = os.environ.get("POMELO_PICTURES")    # a folder for screenshots


def wait_for(page, selector, text=None, count=None):
    """Until the page has that, with that text in one of them."""
    found = page.locator(selector)
    if text is not None:
        found = found.filter(has_text=text)
    if count is not None:
        servers.wait_until(lambda: found.count() == count, f"{count} of {selector} {text or ''}: {found.all_inner_texts()}")
    else:
        found.first.wait_for(timeout=PATIENCE, state="attached")
    return found


def row(page, section, text):
    """The cells of a row, by their column's name."""
    found = wait_for(page, f"#{section} tbody tr", text).first
    return {cell.get_attribute("data-label"): cell.inner_text() for cell in found.locator("td").all()}


class Busy:
    """Sessions that run a statement again and again, in threads."""

    def __init__(self, nodes, statement, **options):
        self.ended, self.threads = threading.Event(), []
        for node in nodes:
            connection = psycopg.connect(autocommit=True, **options) if options else servers.connect(node)
            self.threads.append(threading.Thread(target=self.work, args=[connection, statement]))

    def work(self, connection, statement):
        with connection:
            while not self.ended.is_set():
                connection.execute(statement)

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        for thread in self.threads:
            thread.join()


def test_nodes(scene, console, page):
    """Each node is up, with what it has; rates are known from the second answer on."""
    page.goto(console(scene.workers[0]))
    for node in scene.nodes:
        assert row(page, "nodes", str(node.port))[""] == "up"
    with Busy([scene.workers[0]], "INSERT INTO shop.orders SELECT 5, coalesce(max(id), 0) + 1, '' FROM shop.orders WHERE customer = 5"):
        servers.wait_until(lambda: any(float(row(page, "nodes", str(node.port)).get("Commits/s") or 0) > 1 for node in scene.nodes), "a rate")
    assert row(page, "nodes", str(scene.workers[1].port))["Their size"].endswith("B")
    wait_for(page, "#health", "No findings")
    assert page.locator("#summary").inner_text() == "healthy"


def test_treemap(scene, console, page):
    """A shard's area is as its size, or as the rows that were read and written; all have the colour of their node."""
    page.goto(console(scene.coordinator))
    cells = wait_for(page, "#tables .shard", count=8 + 4 + 3)
    areas = {cell.get_attribute("title"): (box["width"] * box["height"], cell.evaluate("e => e.style.background"))
             for cell in cells.all() if (box := cell.bounding_box())}
    with servers.connect(scene.coordinator) as connection:
        sizes = servers.rows(connection, "SELECT shardid, nodeport, shard_size FROM citus_shards WHERE citus_table_type = 'distributed'")
    ratios, colours = [], {}
    for shard, port, size in sizes:
        area, colour = next(found for title, found in areas.items() if f"shard {shard} on 127.0.0.1:{port}" in title)
        ratios.append(area / size)
        colours.setdefault(port, set()).add(colour)
    assert max(ratios) < 1.7 * min(ratios)      # names of tables and gaps take space
    assert sorted(map(len, colours.values())) == [1, 1] and len(set.union(*colours.values())) == 2
    page.click("text=by load")
    with Busy([scene.coordinator], "SELECT count(*) FROM shop.orders WHERE customer = 7"):
        wait_for(page, "#tables .shard[title*='rows/s']")
        wait_for(page, "#tables .group", "shop.orders")
    page.click("#tables summary")
    wait_for(page, "#tables td", "distributed")
    assert float(re.sub("[ kM]", "", row(page, "tables", "shop.orders")["Rows/s"])) >= 0
    servers.wait_until(lambda: page.locator("#tables details[open]").count() == 1, "the list to stay open")


def test_waits(scene, console, page):
    """Three sessions of which each waits for the one before; the remedy for the first sets the others free."""
    page.goto(console(scene.workers[1]))
    holder, second, third = (servers.connect(node, autocommit=False) for node in scene.nodes)
    try:
        holder.execute("UPDATE shop.orders SET note = 'a<b' WHERE customer = 1 AND id = 1")
        waiting = [Statement(connection, f"UPDATE shop.orders SET note = '<img src=x onerror=alert(1)>' WHERE customer = 1 AND id IN (1, {number})")
                   for number, connection in ((2, second), (3, third))]
        boxes = wait_for(page, "#waits svg g", count=3)
        assert page.locator("#waits svg > path").count() >= 2
        assert page.locator("#waits svg g.blocks").count() == 1
        assert "watcher" not in " ".join(boxes.all_text_contents()) and "idle in transaction" in page.locator("#waits g.blocks").text_content()
        assert row(page, "statements", "onerror")["Statement"].startswith("UPDATE shop.orders")
        text = page.locator("#waits .remedy pre").inner_text()
        assert text.startswith("SELECT pg_terminate_backend(")
        if PICTURES:
            page.screenshot(path=os.path.join(PICTURES, "waits.png"), full_page=True)
        with servers.connect(scene.coordinator) as connection:
            connection.execute(text)
        servers.wait_until(lambda: not all(each.running for each in waiting), "the next session")
        for each, connection in sorted(zip(waiting, (second, third)), key=lambda pair: pair[0].running):
            assert each.finish() is None
            connection.rollback()
        wait_for(page, "#waits", "No session waits")
    finally:
        for connection in (holder, second, third):
            connection.close()


def test_gateways_tenants_and_slow_statements(scene, console, page):
    page.goto(console(scene.coordinator))
    with Busy([scene.workers[0]], "SELECT sum(factorial(500 + id::int % 5)) FROM shop.orders WHERE customer = 42"):
        servers.wait_until(lambda: int(row(page, "tenants", "42")["Statements, last period"]) > 0, "statements of a whole period")
    gateway = row(page, "gateways", str(scene.coordinator.port))
    assert gateway["Clients"] == "0"
    if has_statements():
        assert "shop.orders" in row(page, "slow", "INSERT INTO shop.orders")["Statement"]
        assert "/*" not in page.locator("#slow").inner_text()


def test_plan(scene, console, page):
    """The plan's button shows the moves; the remedy makes them, as a job whose progress is seen."""
    page.goto(console(scene.workers[0]))
    first, second = scene.workers
    with servers.connect(scene.coordinator) as connection:
        for shard, in servers.rows(connection, "SELECT shardid FROM citus_shards WHERE table_name = 'shop.orders'::regclass AND nodeport = %s", [second.port]):
            connection.execute("SELECT citus_move_shard_placement(%s, '127.0.0.1', %s, '127.0.0.1', %s, 'block_writes')", [shard, second.port, first.port])
    page.click("#ask-plan")
    assert row(page, "plan", "shop.orders")["To"].endswith(str(second.port))
    text = page.locator("#plan .remedy pre").inner_text()
    with servers.connect(scene.coordinator) as connection:
        # A move waits for this lock before its shard arrives.
        holder = servers.connect(scene.workers[1], autocommit=False)
        holder.execute("UPDATE shop.orders SET note = 'held'")
        connection.execute(text)
        wait_for(page, "#moves td[data-label=To]", str(second.port))
        wait_for(page, "#moves progress")
        wait_for(page, "#jobs .badge", "running")
        holder.rollback()
        holder.close()
        wait_for(page, "#jobs .badge", "finished")
    wait_for(page, "#moves", "None.")
    page.click("#ask-plan")
    wait_for(page, "#plan", "balanced")


def test_odd_names(scene, console, page):
    """Names and statements are shown as they are, and are no markup."""
    page.goto(console(scene.coordinator))
    wait_for(page, "#tables .group", ODD.replace('"', '""'))
    with servers.connect(scene.coordinator, autocommit=False) as connection:
        connection.execute("SET application_name = '<b>app</b>'")
        connection.execute("SELECT '<script>hacked = 2</script>'")
        found = row(page, "statements", "<script>hacked = 2</script>")
    assert found["Application"] == "<b>app</b>" and found["State"] == "idle in transaction"
    assert page.evaluate("typeof hacked") == "undefined"
    assert page.locator("main script, main b, main img").count() == 0


def test_without_rights(scene, console, page):
    """A role that isn't a member of pg_monitor is told so, section by section."""
    page.goto(console(scene.coordinator, "passerby"))
    wait_for(page, "#health .error", "pg_monitor")
    wait_for(page, "#summary", "not known")
    for section in ("nodes", "tables", "statements", "moves"):
        wait_for(page, f"#{section} .content > *")


def test_nodes_fail(console, page):
    """What can be known is shown while a node is down; all while none answers is an error, and ends when nodes are back."""
    with servers.cluster(purpose="check-console-fail", settings=SETTINGS) as made:
        made.coordinator.sql("CREATE ROLE watcher LOGIN IN ROLE pg_monitor; CREATE TABLE t (id int PRIMARY KEY); SELECT create_distributed_table('t', 'id')")
        page.goto(console(made.workers[0]))
        wait_for(page, "#nodes .badge", "up", count=3)
        made.workers[1].kill()
        wait_for(page, "#nodes .badge", "down", count=1)
        wait_for(page, "#health tr", str(made.workers[1].port))
        wait_for(page, "#gateways", str(made.workers[1].port))
        made.workers[0].kill()
        wait_for(page, "#health .error")
        wait_for(page, "#nodes .error")
        made.start()
        wait_for(page, "#nodes .badge", "up", count=3)
        wait_for(page, "#health", "No findings")


def test_console_ends(scene, browser, console):
    """The page says so, and keeps what it has."""
    from conftest import Console    # pylint: disable=import-outside-toplevel
    started = Console(scene.coordinator)
    made = browser.new_page()
    try:
        made.goto(started.address)
        wait_for(made, "#nodes tbody tr", count=3)
        started.stop()
        wait_for(made, "#nodes .age", "no answer")
        assert made.locator("#nodes tbody tr").count() == 3
    finally:
        made.close()
        started.stop()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1400, 400])
def test_layout(scene, console, browser, width, scheme):
    """Nothing is wider than the window, and texts can be told from what is behind them."""
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = context.new_page()
    try:
        with Busy([scene.workers[0]], "SELECT count(*) FROM shop.orders WHERE customer = 3"):
            page.goto(console(scene.workers[0]))
            for section in SECTIONS:
                wait_for(page, f"#{section} .content > *")
            wait_for(page, "#tables .shard")
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert page.evaluate(CONTRAST) == []
            if PICTURES:
                wait_for(page, "#tenants td")
                page.screenshot(path=os.path.join(PICTURES, f"{scheme}-{width}.png"), full_page=True)
    finally:
        context.close()


# Texts with less contrast to their background than 4.5:1, the bound of WCAG 2.
CONTRAST = """() => {
  const parse = colour => colour.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255).map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, at) => sum + v * [0.2126, 0.7152, 0.0722][at], 0);
  const behind = element => {
    for (let at = element; at; at = at.parentElement) {
      const colour = parse(getComputedStyle(at).backgroundColor);
      if (colour.length < 4 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  const poor = [];
  for (const element of document.querySelectorAll("h1, h2, p, td, th, span, pre, button, .group")) {
    if (![...element.childNodes].some(node => node.nodeType === 3 && node.data.trim())) continue;
    const [a, b] = [light(parse(getComputedStyle(element).color)), light(behind(element))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) poor.push(`${element.textContent.slice(0, 40)}: ${ratio.toFixed(1)}`);
  }
  return poor;
}"""
