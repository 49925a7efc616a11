import type { Theme } from 'vitepress'
import DefaultTheme from 'vitepress/theme'
import { h } from 'vue'
import VersionMenu from './VersionMenu.vue'
import VersionNote from './VersionNote.vue'
// oxlint-disable-next-line import/no-unassigned-import -- a style sheet
import './style.css'

export default {
  extends: DefaultTheme,
  Layout: () =>
    h(DefaultTheme.Layout, null, {
      'nav-bar-content-after': () => h(VersionMenu),
      'doc-before': () => h(VersionNote),
    }),
} satisfies Theme
