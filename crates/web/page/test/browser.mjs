// The page in a real browser: `npm test`, with the program built and a Chromium installed.
//
// TIDEWIRE names the program, CHROMIUM the browser, SHOTS a folder for screenshots.

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, afterEach, test as declare } from "node:test";
import { chromium } from "playwright-core";

const here = import.meta.dirname;
const root = join(here, "../../../..");
const program = process.env.TIDEWIRE ?? join(root, "target/debug/tidewire");
const browsers = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const executablePath = process.env.CHROMIUM ?? browsers.find(existsSync);
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const shots = process.env.SHOTS;
const capture = join(root, "captures/cycles.pcap");

if (executablePath === undefined || !existsSync(program)) {
  console.log(`skipped: ${executablePath === undefined ? "no Chromium" : `no ${program}`}`);
  process.exit(0);
}
/** Milliseconds within which what a test waits for is there, next to other builds. */
const patience = 60_000;
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
after(() => browser.close());

// A test that fails leaves its programs and pages open, and they would keep this process alive.
const started = new Set();
afterEach(async () => {
  for (const child of started) child.kill("SIGKILL");
  started.clear();
  for (const context of browser.contexts()) await context.close();
});

/** Declares a test that fails when it has not ended after five times that. */
const test = (name, body) => declare(name, { timeout: 5 * patience }, body);

/**
 * Starts `tidewire` with these arguments and waits for the URL that it prints. The browser has more of
 * the processors, which a sweep would keep busy.
 */
async function start(...args) {
  const child = spawn("nice", ["-n", "5", program, ...args], { stdio: ["pipe", "pipe", "pipe"] });
  started.add(child);
  let [told, out] = ["", ""];
  child.stdout.on("data", (octets) => (out += octets));
  const url = await new Promise((found, failed) => {
    child.on("exit", () => failed(new Error(told)));
    child.stderr.on("data", (octets) => {
      told += octets;
      const match = /page at (http:\S+)/.exec(told);
      if (match) found(match[1]);
    });
  });
  const ended = new Promise((done) => child.on("exit", done));
  return { child, url, ended, output: () => out };
}

/** Opens a page, and notes requests to elsewhere and errors. */
async function open(url, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  context.setDefaultTimeout(patience);
  const page = await context.newPage();
  const wrong = [];
  page.on("console", (message) => message.type() === "error" && wrong.push(message.text()));
  page.on("pageerror", (error) => wrong.push(String(error)));
  page.on("request", (request) => {
    if (new URL(request.url()).host !== new URL(url).host && !request.url().startsWith("data:")) {
      wrong.push(`request to ${request.url()}`);
    }
  });
  await page.goto(url);
  return { page, wrong, context };
}

async function shoot(page, name) {
  if (shots === undefined) return;
  mkdirSync(shots, { recursive: true });
  await page.screenshot({ path: join(shots, `${name}.png`), fullPage: true });
}

async function violations(page) {
  // The policy of the page allows no script of others, so axe runs in the world of the test.
  await page.evaluate(axe);
  const found = await page.evaluate(() => axe.run());
  return found.violations.map((it) => `${it.id}: ${it.nodes.map((node) => node.html).join(" ")}`);
}

test("the page shows the numbers of the records", async () => {
  const { child, url, ended, output } = await start("watch", "-r", capture, "--json", "--web");
  const { page, wrong } = await open(url);
  await page.waitForSelector(".answer h2");
  await page.waitForFunction(() => document.body.textContent.includes("complete"));
  const records = output().trim().split("\n").map((line) => JSON.parse(line));
  const end = records.find((record) => record.type === "end");
  assert.equal(await page.textContent("#frames"), `${end.frames}`);
  const streams = records.filter((record) => record.type === "cyclic-stream");
  assert.ok(streams.length > 0);
  const rows = await page.$$eval("#streams tbody tr", (rows) =>
    rows.map((row) => [...row.cells].map((cell) => cell.textContent)),
  );
  assert.equal(rows.length, Math.min(20, streams.length));
  for (const row of rows) {
    const label = (it) => it.name ?? `FrameID ${it.identifier.toString(16).padStart(4, "0")}`;
    const stream = streams.find((it) => it.source === row[2] && label(it) === row[3]);
    assert.ok(stream, row.join(" "));
    assert.deepEqual([row[1], row[4], row[5]], [stream.protocol, `${stream.frames}`, `${stream.missing}`]);
  }
  const found = records.filter((record) => record.type === "finding").map((record) => record.text);
  const told = await page.$$eval(".findings li", (items) => items.map((item) => item.textContent));
  assert.equal(told.length, found.length);
  found.forEach((text, place) => assert.ok(told[place].includes(text), told[place]));
  await shoot(page, "streams");
  assert.deepEqual(wrong, []);
  child.kill("SIGTERM");
  await ended;
});

test("light and dark, wide and narrow, without a violation of accessibility", async () => {
  const { child, url, ended } = await start("watch", "-r", capture, "--web");
  for (const colorScheme of ["light", "dark"]) {
    for (const [width, height] of [[1280, 800], [390, 844], [640, 400]]) {
      const { page, context } = await open(url, { colorScheme, viewport: { width, height } });
      await page.waitForSelector("#streams");
      assert.deepEqual(await violations(page), [], `${colorScheme} ${width}`);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(wide <= 0, `${wide} pixels beyond a width of ${width}`);
      await shoot(page, `${colorScheme}-${width}`);
      await context.close();
    }
  }
  child.kill("SIGTERM");
  await ended;
});

test("nothing moves by itself where less motion is wanted", async () => {
  const { child, url, ended } = await start("watch", "-r", capture, "--web");
  for (const [reducedMotion, scrolling] of [["reduce", "auto"], ["no-preference", "smooth"]]) {
    const { page, context } = await open(url, { reducedMotion });
    await page.waitForSelector("#streams");
    const found = await page.evaluate(() => {
      const moving = [...document.querySelectorAll("*")].filter((it) => getComputedStyle(it).transitionDuration !== "0s");
      const animations = document.getAnimations().length + moving.length;
      return [getComputedStyle(document.documentElement).scrollBehavior, animations];
    });
    assert.deepEqual(found, [scrolling, 0]);
    await context.close();
  }
  child.kill("SIGTERM");
  await ended;
});

test("a table is searched and sorted by keyboard alone", async () => {
  const { child, url, ended } = await start("watch", "-r", capture, "--web");
  const { page, wrong } = await open(url);
  await page.waitForSelector("#streams");
  const heading = page.locator("#streams th button", { hasText: "frames" });
  for (let steps = 0; steps < 60; steps += 1) {
    await page.keyboard.press("Tab");
    if (await heading.evaluate((it) => it === document.activeElement)) break;
  }
  assert.ok(await heading.evaluate((it) => it === document.activeElement));
  await page.keyboard.press("Enter");
  assert.equal(await page.locator("#streams th[aria-sort=descending]").textContent(), "frames ▾");
  const counts = await page.$$eval("#streams tbody tr td:nth-child(5)", (cells) =>
    cells.map((cell) => Number(cell.textContent)),
  );
  assert.deepEqual(counts, counts.slice().sort((a, b) => b - a));
  // The focus stays where it is when new numbers come.
  await page.waitForTimeout(1200);
  assert.ok(await heading.evaluate((it) => it === document.activeElement));
  assert.deepEqual(wrong, []);
  child.kill("SIGTERM");
  await ended;
});

/** Presses a key and waits until the cursor of the first chart reads another value. */
async function press(page, key) {
  const reading = page.locator(".reading").first();
  const before = await reading.textContent();
  await page.keyboard.press(key);
  await page.waitForFunction((before) => document.querySelector(".reading").textContent !== before, before);
  return reading.textContent();
}

test("the keyboard moves the cursors of charts, zooms, and turns series off", async () => {
  const cell = join(root, "captures/cell.pcapng");
  const { child, url, ended } = await start("watch", "-r", cell, "--web");
  const { page, wrong } = await open(url);
  await page.waitForFunction(() => document.body.textContent.includes("complete"));
  // All points are in the table, 20 on a page.
  await page.click(".values summary");
  await page.waitForSelector(".values tbody tr");
  const [times, counts] = await page.$$eval(".values tbody tr", (rows) =>
    [0, 1].map((column) => rows.map((row) => row.cells[column].textContent)),
  );
  assert.ok(times.length > 3 && times.length <= 20, times.join());
  await page.focus(".plot");
  assert.equal(await page.getAttribute(".reading", "aria-live"), "polite");
  const told = (place) => `${times[place]} s: TPDUs ${counts[place]}, retransmitted DTs `;
  for (const [key, place] of [["Home", 0], ["ArrowRight", 1], ["ArrowRight", 2], ["ArrowLeft", 1]]) {
    const reading = await press(page, key);
    assert.ok(reading.startsWith(told(place)), `${key}: ${reading}, not ${told(place)}`);
  }
  await shoot(page, "chart-keys");
  // A series that is turned off is drawn, read and listed no more.
  const toggle = page.locator(".toggles button", { hasText: "retransmitted DTs" });
  await toggle.focus();
  await page.keyboard.press("Space");
  await page.waitForSelector(".toggles button[aria-pressed=false]");
  await page.waitForFunction(() => !document.querySelector(".reading").textContent.includes("retransmitted"));
  assert.equal(await page.locator(".values thead th").count(), 2);
  await page.keyboard.press("Enter");
  await page.focus(".plot");
  await press(page, "Escape");
  assert.equal(await page.textContent(".reading"), "");
  assert.deepEqual(await violations(page), []);
  assert.deepEqual(wrong, []);
  child.kill("SIGTERM");
  await ended;
});

test("the charts of a connection have their cursors at one time, and zoom by keyboard", async () => {
  // Both sides of its connections send DTs, so that each has a chart.
  const folder = mkdtempSync(join(tmpdir(), "page-"));
  const both = join(folder, "both.pcapng");
  spawnSync(program, ["predict", "substation", "--no-save", "--capture", both]);
  const { child, url, ended } = await start("watch", "-r", both, "--web");
  const { page, wrong } = await open(url);
  await page.waitForFunction(() => document.body.textContent.includes("complete"));
  await page.click("#connections td button >> nth=0");
  await page.waitForFunction(() => document.querySelectorAll("#connection .plot canvas").length === 2);
  await page.focus("#connection .plot");
  await press(page, "Home");
  await press(page, "ArrowRight");
  await page.waitForFunction(() => {
    const [one, other] = [...document.querySelectorAll("#connection .reading")].map((it) => it.textContent);
    return one !== "" && other !== "";
  });
  const lefts = await page.$$eval("#connection .u-cursor-x", (all) => all.map((it) => it.style.transform));
  assert.equal(lefts.length, 2);
  assert.ok(lefts[0].startsWith("translate(") && lefts[0] !== "translate(-10px, 0px)", lefts.join());
  // A zoom draws other points, and 0 all of them again.
  const drawn = () => page.$eval("#connection .plot canvas", (canvas) => canvas.toDataURL());
  const before = await drawn();
  await page.keyboard.press("+");
  const drawnAgain = (before) => document.querySelector("#connection .plot canvas").toDataURL() !== before;
  await page.waitForFunction(drawnAgain, before);
  // The line of the cursor goes through the points that it reads.
  const places = await page.$$eval("#connection .plot >> nth=0", ([plot]) =>
    [".u-cursor-x", ".u-cursor-pt"].map((name) => {
      const { left, width } = plot.querySelector(name).getBoundingClientRect();
      return left + width / 2;
    }),
  );
  assert.ok(Math.abs(places[0] - places[1]) < 2, places.join());
  await shoot(page, "connection-keys");
  await page.keyboard.press("0");
  await page.waitForFunction(
    (before) => document.querySelector("#connection .plot canvas").toDataURL() === before,
    before,
  );
  assert.deepEqual(await violations(page), []);
  assert.deepEqual(wrong, []);
  child.kill("SIGTERM");
  await ended;
  rmSync(folder, { recursive: true });
});

test("without scripts the page is tables", async () => {
  const { child, url, ended } = await start("watch", "-r", capture, "--web");
  const { page, wrong } = await open(url, { javaScriptEnabled: false });
  await page.waitForSelector("table");
  assert.ok((await page.textContent("body")).includes("Cyclic streams"));
  await shoot(page, "tables");
  assert.deepEqual(wrong, []);
  child.kill("SIGTERM");
  await ended;
});

test("the page keeps its numbers when measuring ends, and says so", async () => {
  const { child, url, ended } = await start("watch", "-r", "-", "--web");
  const { page } = await open(url);
  await page.waitForSelector(".answer");
  child.stdin.end(readFileSync(capture));
  await ended;
  await page.waitForFunction(() => document.body.textContent.includes("these are the last numbers"));
  assert.ok(await page.isVisible(".answer"));
});

test("names from a capture are text", async () => {
  const name = `<script>alert(1)</script><img src=x onerror=alert(2)>\u202e${"x".repeat(65536)}`;
  const cell = join(root, "captures/cell.pcapng");
  const lines = spawnSync(program, ["watch", "-r", cell, "--json"], { encoding: "utf8" }).stdout;
  const renamed = lines.replaceAll('"02:00:00:00:00:03"', JSON.stringify(name));
  assert.notEqual(renamed, lines);
  const folder = mkdtempSync(join(tmpdir(), "page-"));
  writeFileSync(join(folder, "names.ndjson"), renamed);
  const { child, url, ended } = await start("show", join(folder, "names.ndjson"), "--web");
  const { page, wrong } = await open(url);
  await page.waitForSelector("#connections td button");
  const texts = await page.$$eval("#connections td button", (cells) => cells.map((it) => it.textContent));
  const shown = texts.find((text) => text.startsWith("<script>alert(1)</script>"));
  assert.ok(shown, texts.join());
  assert.ok(shown.length < 300 && shown.includes("\\u{202e}") && !shown.includes("\u202e"), shown);
  await page.click("#connections td button >> nth=0");
  await page.waitForSelector("#connection dl");
  await page.goto(new URL("/tables", url).href);
  assert.ok((await page.textContent("body")).includes("<script>alert(1)</script>"));
  assert.deepEqual(wrong, []);
  child.kill("SIGTERM");
  await ended;
  rmSync(folder, { recursive: true });
});

test("after a restart a page goes on as soon as the new URL was opened", async () => {
  const first = await start("watch", "-r", capture, "--web");
  const port = new URL(first.url).port;
  const { page, context } = await open(first.url);
  await page.waitForSelector("#streams");
  first.child.kill("SIGKILL");
  await first.ended;
  await page.waitForFunction(() => document.body.textContent.includes("connection lost"));
  const again = join(root, "captures/cell.pcapng");
  const second = await start("watch", "-r", again, "--web", `127.0.0.1:${port}`);
  const other = await context.newPage();
  await other.goto(second.url);
  await page.waitForSelector("#connections");
  assert.ok(!(await page.textContent("body")).includes("connection lost"));
  second.child.kill("SIGTERM");
  await second.ended;
});

// The first three points take seconds, and all of them many minutes: only the interruption ends the sweep.
const counts = [20, 24, 28, ...Array.from({ length: 37 }, (_, index) => 300 + index)];
const deadline = ["--require", "delay.max(trip) < 900 us"];
const sweep = ["predict", "ieds", "--vary", `stations.ied.count=${counts}`, ...deadline, "-n", "20", "--no-save"];

test("a sweep under way is whole in light and dark, wide and narrow", async () => {
  const { child, url, ended } = await start(...sweep, "--web");
  const { page: seen, wrong } = await open(url);
  await seen.waitForFunction(() => document.querySelector("#points")?.textContent.includes("pass"));
  await seen.waitForFunction(() => document.querySelector("#deadlines tbody tr:nth-child(3)") !== null);
  for (const colorScheme of ["light", "dark"]) {
    for (const [width, height] of [[1280, 800], [390, 844], [640, 400]]) {
      const { page, context } = await open(url, { colorScheme, viewport: { width, height } });
      await page.waitForSelector("#times");
      assert.deepEqual(await violations(page), [], `${colorScheme} ${width}`);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(wide <= 0, `${wide} pixels beyond a width of ${width}`);
      await shoot(page, `sweep-${colorScheme}-${width}`);
      await context.close();
    }
  }
  const { page: report, wrong: wrongThere } = await open(url);
  await report.click("text=Report of the finished runs");
  await report.waitForSelector("svg");
  await shoot(report, "sweep-report");
  assert.deepEqual(wrongThere, []);
  // The place of the keyboard stays when new numbers come.
  await seen.focus("#points .wide");
  const before = await seen.textContent("#answer h2");
  await seen.waitForFunction((before) => document.querySelector("#answer h2").textContent !== before, before);
  assert.equal(await seen.evaluate(() => document.activeElement.getAttribute("aria-label")), "Points");
  child.kill("SIGINT");
  await ended;
  await seen.waitForFunction(() => document.body.textContent.includes("The run has ended."));
  assert.match(await seen.textContent("#answer"), /of 800 runs: cut short, interrupted/);
  await shoot(seen, "sweep-ended");
  assert.deepEqual(wrong, []);
});

test("a sweep under way is tables without scripts, which are loaded again", async () => {
  const { child, url, ended } = await start(...sweep, "--web");
  const { page, wrong } = await open(url, { javaScriptEnabled: false });
  const done = async () => Number(/(\d+) of/.exec(await page.textContent("#answer h2"))[1]);
  const first = await done();
  await page.waitForNavigation();
  assert.ok((await done()) > first);
  await shoot(page, "sweep-tables");
  assert.deepEqual(wrong, []);
  child.kill("SIGINT");
  await ended;
});
