/**
 * Runs in the page. Returns the texts whose contrast with their background is below a limit, with their colours. The contrast is that of
 * WCAG 2.1: (L1 + 0.05) / (L2 + 0.05), with relative luminances. Large text may have 3 instead of 4.5.
 */
export function lowContrast(limit: number): string[] {
  type Color = readonly [number, number, number, number]
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true })!
  const read = (text: string): Color => {
    canvas.clearRect(0, 0, 1, 1)
    canvas.fillStyle = text
    canvas.fillRect(0, 0, 1, 1)
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data
    return [r!, g!, b!, a! / 255]
  }
  const over = (top: Color, below: Color): Color => {
    const mix = (i: 0 | 1 | 2) => top[i] * top[3] + below[i] * (1 - top[3])
    return [mix(0), mix(1), mix(2), 1]
  }
  const backgroundOf = (element: Element): Color => {
    const layers: Color[] = []
    for (let at: Element | null = element; at !== null; at = at.parentElement) {
      const color = read(getComputedStyle(at).backgroundColor)
      if (color[3] > 0) layers.push(color)
      if (color[3] === 1) break
    }
    return layers.reduceRight((below, top) => over(top, below), [255, 255, 255, 1] as Color)
  }
  const luminance = ([r, g, b]: Color): number => {
    const [x, y, z] = [r, g, b].map((value) => {
      const share = value / 255
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
    })
    return 0.2126 * x! + 0.7152 * y! + 0.0722 * z!
  }
  const found = new Set<string>()
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const element = node.parentElement!
    const text = node.textContent!.trim()
    const style = getComputedStyle(element)
    if (text === '' || !element.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue
    // A gradient behind transparent letters is their colour.
    if (style.webkitTextFillColor === 'rgba(0, 0, 0, 0)' || element.closest('.visually-hidden') !== null) continue
    const background = backgroundOf(element)
    const color = over(read(style.color), background)
    const [light, dark] = [luminance(color), luminance(background)].toSorted((a, b) => b - a) as [number, number]
    const contrast = (light + 0.05) / (dark + 0.05)
    const size = Number.parseFloat(style.fontSize)
    const isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700)
    if (contrast < (isLarge ? 3 : limit)) {
      found.add(
        `${contrast.toFixed(2)} ${style.color} on ${background.map(Math.round).join(' ')}: ${text.slice(0, 40)}`,
      )
    }
  }
  return [...found]
}
