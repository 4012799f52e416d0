/** Light, dark, or as the system: the choice is kept in this browser. */
const KEPT = 'gw-console-colours'

export function followTheme(select) {
  const kept = localStorage.getItem(KEPT)
  const choose = (theme) => {
    if (theme === 'auto') delete document.documentElement.dataset.theme
    else document.documentElement.dataset.theme = theme
  }
  if (kept === 'light' || kept === 'dark') select.value = kept
  choose(select.value)
  select.addEventListener('change', () => {
    localStorage.setItem(KEPT, select.value)
    choose(select.value)
  })
}
