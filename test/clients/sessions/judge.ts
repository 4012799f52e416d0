/** Judges each step of a session by its effect on the disk, at the upstream, and at the client. */
import type { Verdict } from '../judge.ts'
import { isCall } from './brain.ts'
import type { Played } from './play.ts'
import {
  BIG_LINES,
  bigLine,
  type Deed,
  doneWith,
  type Judged,
  plan,
  SUMMARY,
  WORDS,
} from './steps.ts'

const GOOD: Verdict = { good: true }
const bad = (remark: string): Verdict => ({ good: false, remark })
const LINE = /line-\d{5}-x{38}/g
const SHOWS = /"image_url"|"input_image"|"type":"image"/

export function judge(step: Judged, played: Played): Verdict {
  const { scripted, shown, edited, ran } = played
  const { heard, refused, endless } = scripted
  switch (step) {
    case 'read':
      return came(WORDS.notes)
    case 'edit':
      return edited ? GOOD : bad('the file is unchanged')
    case 'run':
      return ran ? came(WORDS.ran) : bad('the command did not run')
    case 'parallel': {
      const deeds = plan('work', played.root)[3] ?? []
      const whole = heard.some(({ seen }) =>
        deeds.every((deed) => seen.calls.some((call) => isCall(call, toolOf(deed)))),
      )
      return whole ? GOOD : bad('not all results came')
    }
    case 'large':
      return judgeLarge(played)
    case 'picture':
      return judgePicture(played)
    case 'compaction': {
      const at = heard.findIndex(({ choice }) => choice.kind === 'summary')
      if (at < 0) return bad('never asked for a summary')
      const next = heard.slice(at + 1).find(({ choice }) => isMain(choice.kind))
      if (next === undefined) return bad('nothing came after it')
      return next.text.includes(SUMMARY) && !next.text.includes(bigLine(0))
        ? GOOD
        : bad('the history is unchanged')
    }
    case 'abort':
      if (!endless.begun) return bad('never asked')
      if (!endless.left) return bad('the connection to the upstream stays open')
      return played.log.some(({ status }) => status === 499) ? GOOD : bad('not logged as left')
    case 'resume': {
      const last = heard.findLast(({ choice }) => choice.task === 'resume' && isMain(choice.kind))
      if (last === undefined) return bad('never asked')
      if (shown.resume?.text?.includes(doneWith('resume')) !== true)
        return bad(shown.resume?.error ?? `shows "${shown.resume?.text}"`)
      return /gw:(work|look)|in short/.test(last.text) ? GOOD : bad('without its history')
    }
    case 'strict':
      return refused.length === 0 ? GOOD : bad(refused[0] ?? '')
  }

  function toolOf(deed: Deed) {
    return played.row.script.toolbox?.(deed) ?? { name: '', args: {} }
  }

  function came(word: string): Verdict {
    return heard.some(({ seen }) => wasTold(seen, word)) ? GOOD : bad('it did not come')
  }
}

const isMain = (kind: string) => kind === 'main' || kind === 'endless'

/** An agent without tools shows files in its prompt. */
function wasTold({ calls, user }: Played['scripted']['heard'][number]['seen'], word: string) {
  return calls.some(({ result }) => result?.includes(word)) || user.includes(word)
}

/** Agents shorten results themselves; the part that they send must arrive complete. */
function judgeLarge({ scripted, between }: Played): Verdict {
  const most = (texts: readonly string[]) =>
    Math.max(0, ...texts.map((text) => text.match(LINE)?.length ?? 0))
  const sent = most(between.passed.map(({ body }) => body))
  const got = most(scripted.heard.map(({ text }) => text))
  if (got < sent) return bad(`${got} of ${sent} lines arrive`)
  if (sent >= BIG_LINES) return GOOD
  const kilobytes = Math.round((sent * (bigLine(0).length + 1)) / 1000)
  return sent > 0 ? { good: true, remark: `sends ${kilobytes} kB of it` } : bad('never sent')
}

function judgePicture({ scripted, between }: Played): Verdict {
  if (scripted.heard.some(({ seen }) => seen.pictures > 0)) return GOOD
  const sent = between.passed.filter(({ body }) => SHOWS.test(body))
  if (sent.length === 0) return bad('never sent')
  const isNamed = sent.some(({ dropped }) => /image|picture|content/.test(dropped))
  return isNamed ? { good: true, remark: 'named as left out' } : bad('lost')
}
