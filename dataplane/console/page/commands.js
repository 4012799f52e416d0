/** Commands and YAML that do what the reader may want next, each with a button that copies it. The page itself only reads. */
import { h } from './element.js'

/** `all` are `[what it does, the text]`. */
export function commands(title, all) {
  return h(
    'details',
    { class: 'card', 'data-key': `commands ${title}` },
    h('summary', null, title),
    all.map(([words, text]) => copied(words, text)),
  )
}

export function copied(words, text) {
  const copy = ({ target }) => {
    const show = (answer) => {
      target.textContent = answer
      setTimeout(() => {
        target.textContent = 'Copy'
      }, 2000)
    }
    navigator.clipboard.writeText(text).then(
      () => show('Copied'),
      () => show('Select it and copy'),
    )
  }
  return h(
    'div',
    { class: 'command' },
    h(
      'p',
      null,
      words,
      ' ',
      h('button', { type: 'button', onclick: copy, 'aria-label': `Copy: ${words}` }, 'Copy'),
    ),
    h('pre', { tabindex: '0' }, text),
  )
}

/** The lines that would fill a view, instead of an empty table. */
export function wouldFill(words, yaml) {
  return h('div', { class: 'filler' }, copied(words, yaml))
}

/** A word in a command of a shell. */
export function quoted(text) {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}

/** A name in YAML; JSON is YAML. */
export function yamlOf(text) {
  return /^[A-Za-z][\w-]*$/.test(text) && !/^(?:true|false|null|yes|no|on|off|y|n)$/i.test(text)
    ? text
    : JSON.stringify(text)
}
