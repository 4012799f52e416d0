/** The metrics as Prometheus reads them: the format, the labels, the histograms. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { failing, startFront, startUpstream, streaming, textOf } from '../helpers/fake-upstream.ts'

const upstream = await startUpstream()
const front = await startFront({
  upstreams: [{ name: 'one', endpoint: upstream.url }],
  routes: [{ name: 'chat', strategy: 'single', primary: 'one' }],
})
after(() => Promise.all([front.process.stop(), upstream.close()]))

interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

interface Family {
  readonly type: string
  readonly samples: Sample[]
}

const SAMPLE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (Na[Nn]|[+-]Inf|-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)$/
const LABEL = /^([a-zA-Z_]\w*)="((?:[^"\\\n]|\\[\\n"])*)"(?:,|$)/

/** Prometheus' text format, strictly: HELP and TYPE before the samples of a family, each series once. */
function parseExposition(text: string): Map<string, Family> {
  assert.ok(text.endsWith('\n'), 'the last line ends')
  const families = new Map<string, Family>()
  const seen = new Set<string>()
  let current = ''
  for (const line of text.trimEnd().split('\n')) {
    if (line === '') continue
    const [hash, keyword, name = '', type = ''] = line.split(' ')
    if (hash === '#' && keyword === 'HELP') {
      assert.ok(!families.has(name), `${name} is exposed twice`)
      current = name
    } else if (hash === '#') {
      assert.equal(keyword, 'TYPE', line)
      assert.equal(name, current, line)
      assert.match(type, /^(counter|gauge|histogram|summary)$/)
      families.set(name, { type, samples: [] })
    } else {
      const sample = parseSample(line)
      const base = sample.name.replace(/_(bucket|sum|count)$/, '')
      const family = families.get(sample.name) ?? families.get(base)
      assert.equal(families.has(sample.name) ? sample.name : base, current, line)
      const key = line.slice(0, line.lastIndexOf(' '))
      assert.ok(!seen.has(key), `${key} appears twice`)
      seen.add(key)
      family?.samples.push(sample)
    }
  }
  return families
}

function parseSample(line: string): Sample {
  const [, name = '', written = '', value = ''] = SAMPLE.exec(line) ?? assert.fail(line)
  const labels: Record<string, string> = {}
  for (let rest = written; rest !== ''; ) {
    const [all, label = '', text = ''] = LABEL.exec(rest) ?? assert.fail(line)
    assert.ok(!(label in labels), line)
    labels[label] = text
    rest = rest.slice(all.length)
  }
  // prom-client writes `Nan` for a gauge without samples; Prometheus reads it in any case.
  return { name, labels, value: Number(value.replace('Inf', 'Infinity')) }
}

const scrape = async () => parseExposition(await textOf(`${front.process.metricsUrl}/metrics`))

for (let count = 0; count < 20; count++) {
  upstream.script.push(count % 5 === 0 ? failing(500) : streaming())
  await front.stream()
  await front.chat({ model: count % 2 === 0 ? 'chat' : 'client-chosen-name' })
}

test('OpenMetrics, if requested, has the same series, and the text format has its names afterwards', async () => {
  const headers = { accept: 'application/openmetrics-text;version=1.0.0,text/plain;q=0.5' }
  const answer = await fetch(`${front.process.metricsUrl}/metrics`, { headers })
  assert.match(answer.headers.get('content-type') ?? '', /^application\/openmetrics-text/)
  const text = await answer.text()
  assert.ok(text.endsWith('\n# EOF\n'))
  const namesIn = (lines: string) =>
    new Set(
      lines
        .split('\n')
        .filter((line) => /^\w/.test(line))
        .map((line) => line.split(/[{ ]/)[0]),
    )
  const plain = await textOf(`${front.process.metricsUrl}/metrics`)
  assert.deepEqual(namesIn(text), namesIn(plain))
  assert.match(text, /^# TYPE gw_requests counter$/m)
  assert.match(plain, /^# TYPE gw_requests_total counter$/m)
})

test('label values come from the configuration and from fixed lists', async () => {
  const known: Readonly<Record<string, RegExp>> = {
    route: /^(chat|none)$/,
    upstream: /^(one|none)$/,
    tenant: /^(acme|none|other)$/,
    status: /^[1-5]\d\d$/,
    code: /^ERR_GW_[A-Z_]+$/,
    le: /^([\d.]+|\+Inf)$/,
  }
  for (const [name, { samples }] of await scrape()) {
    if (!name.startsWith('gw_')) continue
    for (const { labels } of samples) {
      for (const [label, value] of Object.entries(labels)) {
        assert.match(value, known[label] ?? /^[a-z_]+$|^\d+\.\d+\.\d+$/, `${name} ${label}`)
        assert.notEqual(value, 'client-chosen-name')
      }
    }
  }
})

test('the buckets of histograms are cumulative and end in the count', async () => {
  let checked = 0
  for (const [name, { type, samples }] of await scrape()) {
    if (type !== 'histogram') continue
    const series = Map.groupBy(samples, ({ labels: { le, ...rest } }) => JSON.stringify(rest))
    for (const group of series.values()) {
      const buckets = group.filter((sample) => sample.name === `${name}_bucket`)
      const bounds = buckets.map(({ labels }) => Number(labels.le?.replace('Inf', 'Infinity')))
      const counts = buckets.map(({ value }) => value)
      assert.deepEqual(
        bounds,
        bounds.toSorted((a, b) => a - b),
        name,
      )
      assert.deepEqual(
        counts,
        counts.toSorted((a, b) => a - b),
        name,
      )
      assert.equal(bounds.at(-1), Number.POSITIVE_INFINITY)
      const of = (suffix: string) => group.find((sample) => sample.name === name + suffix)?.value
      assert.equal(counts.at(-1), of('_count'), name)
      assert.ok(of('_sum')! >= 0)
      checked++
    }
  }
  assert.ok(checked >= 4)
})
