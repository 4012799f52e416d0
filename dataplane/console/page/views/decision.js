/** One decision as a tree: the stages in their order, attempts as bars over time, and why others were skipped. */
import { h } from '../element.js'
import { counted, fullTime, milliseconds, number, usdOfNano } from '../format.js'
import { answerState, requestsWith, state } from '../table.js'
import { ATTEMPT_FIELDS, TRACE_FIELDS } from '../trace-fields.js'

export function decision(trace, pod) {
  const { message } = trace
  return [
    h(
      'p',
      null,
      answerState(trace),
      ` · ${milliseconds(trace.duration_ms)} · `,
      h('time', { datetime: trace.time }, fullTime(trace.time)),
      ` · pod ${pod}`,
    ),
    message !== undefined && h('p', { class: 'card' }, message),
    h(
      'ul',
      { class: 'tree card' },
      leaf(
        'Asked',
        `${trace.method} ${trace.path}`,
        trace.stream === true && ', a stream',
        `, body in ${milliseconds(trace.body_ms)}`,
      ),
      leaf(
        'Tenant',
        trace.tenant === undefined
          ? 'none'
          : h('a', { href: `#/tenants/${encodeURIComponent(trace.tenant)}` }, trace.tenant),
        trace.key && [', key ', requestsWith(trace.key)],
        trace.tags && `, tags ${trace.tags}`,
      ),
      leaf(
        'Route',
        `${trace.model ?? 'no model'} → `,
        trace.route === 'none'
          ? 'none'
          : h('a', { href: `#/routing/${encodeURIComponent(trace.route)}` }, trace.route),
        trace.strategy && ` (${trace.strategy})`,
      ),
      judgements(trace),
      h('li', null, h('b', null, counted(trace.attempts.length, 'attempt')), attempts(trace)),
      leaf('Tokens', tokensOf(trace)),
      leaf('Answer', answerOf(trace)),
      leaf(
        'Ids',
        trace.request_id,
        linesOf(TRACE_FIELDS, trace).map((line) => `, ${line}`),
      ),
    ),
  ]
}

function answerOf({ running, status, code, upstream, ttft_ms }) {
  const first = ttft_ms !== undefined && `, first token after ${milliseconds(ttft_ms)}`
  if (running) return ['not complete yet', first]
  return [String(status), code && ` ${code}`, upstream === 'none' ? '' : ` from ${upstream}`, first]
}

/** Between the route and the attempts. */
function judgements({ passed_over = [], guardrails = [], retrieval = [], semantic, context }) {
  return [
    semantic &&
      leaf(
        'Judged',
        `${semantic.side}, score ${semantic.score} by ${semantic.classifier}`,
        semantic.reason && `: ${semantic.reason}`,
      ),
    guardrails.map(({ name, side, verdict, ms, reason }) =>
      leaf(
        `Guardrail ${name}`,
        state(verdict === 'pass' ? 'good' : 'warn', verdict),
        ` on the ${side}, ${milliseconds(ms)}`,
        reason && `: ${reason}`,
      ),
    ),
    retrieval.map(({ name, outcome, ms, reason }) =>
      leaf(
        `Retrieval ${name}`,
        state(outcome === 'ok' ? 'good' : 'bad', outcome),
        ` in ${milliseconds(ms)}`,
        reason && `: ${reason}`,
      ),
    ),
    context &&
      leaf(
        'Context',
        `${number(context.prompt)} tokens of ${context.window ?? 'an unknown window'}, ${number(context.added)} added`,
      ),
    passed_over.map(({ upstream, why }) => leaf('Skipped', state('idle', upstream), `: ${why}`)),
  ]
}

function leaf(name, ...words) {
  return h('li', null, h('b', null, name), ': ', words)
}

function attempts({ attempts: all, duration_ms }) {
  const whole = Math.max(duration_ms, ...all.map(({ ended_ms }) => ended_ms), 1)
  return h(
    'ol',
    { class: 'tree attempts' },
    all.map((attempt) => {
      const { upstream, started_ms, outcome, status, reason, usage } = attempt
      const ended_ms = outcome === 'running' ? whole : attempt.ended_ms
      const words = `${outcome}${status === undefined ? '' : ` ${status}`}`
      const label = `${upstream}: ${words}, from ${milliseconds(started_ms)} to ${milliseconds(ended_ms)}`
      const kind = outcome === 'ok' ? 'good' : outcome === 'running' ? 'idle' : 'bad'
      const x = (started_ms / whole) * 100
      const width = Math.max(0.6, ((ended_ms - started_ms) / whole) * 100)
      return h(
        'li',
        null,
        state(kind, `${upstream}: ${words}`),
        ` in ${milliseconds(ended_ms - started_ms)}`,
        usage &&
          `, ${number(usage.input_tokens)} + ${number(usage.output_tokens)} tokens, ${usdOfNano(usage.cost_nano_usd)}${usage.estimated ? ', estimated' : ''}`,
        reason !== undefined && h('div', { class: 'quiet' }, reason),
        remarksOn(attempt).map((words) => h('div', { class: 'quiet' }, words)),
        h(
          'svg',
          {
            viewBox: '0 0 100 8',
            preserveAspectRatio: 'none',
            role: 'img',
            'aria-label': label,
            class: kind,
          },
          h('rect', { class: 'whole', width: 100, height: 8 }),
          h('rect', { x: x.toFixed(2), width: Math.min(width, 100 - x).toFixed(2), height: 8 }),
        ),
      )
    }),
  )
}

function remarksOn(attempt) {
  const { answer } = attempt
  return [
    answer?.model && `answered by ${answer.model}`,
    answer?.finish_reasons.length > 0 &&
      `ended with ${answer.finish_reasons.map((reason) => reason ?? 'nothing').join(', ')}`,
    ...linesOf(ATTEMPT_FIELDS, attempt),
  ].filter(Boolean)
}

/** `trace 4bf9…`, for each field that has a value. */
function linesOf(fields, record) {
  return fields
    .map(([name, words]) => [words, [record[name] ?? []].flat().join(', ')])
    .filter(([, value]) => value !== '')
    .map((line) => line.join(' '))
}

function tokensOf({
  prompt_tokens,
  completion_tokens,
  usage_estimated,
  attempts: all,
  max_tokens,
}) {
  if (prompt_tokens === undefined) return 'none were used'
  const cost = all.reduce((sum, { usage }) => sum + (usage?.cost_nano_usd ?? 0), 0)
  const most = max_tokens === undefined ? '' : `, at most ${number(max_tokens)} allowed`
  return `${number(prompt_tokens)} in, ${number(completion_tokens ?? 0)} out${most}, ${usdOfNano(cost)}${usage_estimated ? ', estimated' : ''}`
}
