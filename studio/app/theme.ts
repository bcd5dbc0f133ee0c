/** Colours and measures: those of the start page, light and dark. */
import { createTheme, type Theme } from '@mui/material/styles';

declare module '@mui/material/styles' {
  interface Palette {
    readonly chart: Chart;
  }
  interface PaletteOptions {
    readonly chart?: Chart;
  }
}

/** Bars behind text, marked ones, and columns. */
interface Chart {
  readonly soft: string;
  readonly strong: string;
  readonly column: string;
}

const LIGHT = {
  primary: { main: '#0b6e5f' },
  background: { default: '#f7f8f7', paper: '#ffffff' },
  text: { primary: '#1d2329', secondary: '#566069' },
  divider: '#e2e4e1',
  chart: { soft: '#d9ebe7', strong: '#b5d8d0', column: '#3c9383' },
};
const DARK = {
  primary: { main: '#6cc8b6' },
  error: { main: '#ff8a80' },
  background: { default: '#14181b', paper: '#1b2024' },
  text: { primary: '#e4e7e9', secondary: '#a3adb5' },
  divider: '#2f363b',
  chart: { soft: '#23403b', strong: '#2f5d55', column: '#5fb3a3' },
};

export const themeFor = (mode: 'light' | 'dark'): Theme =>
  createTheme({
    palette: { mode, ...(mode === 'light' ? LIGHT : DARK) },
    shape: { borderRadius: 8 },
    typography: {
      fontFamily: 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif',
      h1: { fontSize: '1.5rem', fontWeight: 650, letterSpacing: '-0.015em', lineHeight: 1.3 },
      h2: { fontSize: '1.05rem', fontWeight: 650 },
      button: { textTransform: 'none', fontWeight: 600 },
    },
    components: {
      MuiButton: { defaultProps: { disableElevation: true } },
      // A person who clicks at once reads no tooltip, and placing one costs as much as a page of records.
      MuiTooltip: { defaultProps: { enterDelay: 500 } },
      MuiPaper: { defaultProps: { elevation: 0 }, styleOverrides: { root: { backgroundImage: 'none' } } },
      // Help is there while it is needed, above what stands below: nothing moves under the mouse.
      MuiFormHelperText: {
        styleOverrides: {
          root: ({ theme }) => ({
            '.MuiFormControl-root > &:not(.Mui-error):not([role=status])': {
              position: 'absolute',
              insetBlockStart: '100%',
              insetInline: 0,
              zIndex: 2,
              margin: '2px 0 0',
              padding: '4px 8px',
              borderRadius: 6,
              background: theme.palette.background.paper,
              boxShadow: theme.shadows[3],
              visibility: 'hidden',
              pointerEvents: 'none',
            },
            '.MuiFormControl-root:focus-within > &:not(:empty):not(.Mui-error)': { visibility: 'visible' },
            '.broken-limit .MuiFormControl-root > &.Mui-error': {
              position: 'absolute',
              insetBlockStart: '100%',
              marginBlockStart: 1,
              whiteSpace: 'nowrap',
            },
            '&:has(> span:empty)': { display: 'none' },
          }),
        },
      },
      MuiTextField: { defaultProps: { size: 'small', fullWidth: true } },
      // Hidden text for screen readers stays within the table and makes no page wider.
      MuiTableContainer: { styleOverrides: { root: { position: 'relative' } } },
      MuiTableCell: { styleOverrides: { head: { fontWeight: 600, whiteSpace: 'nowrap' } } },
      MuiCssBaseline: {
        styleOverrides: {
          body: { overflowWrap: 'break-word' },
          // The record, not the menu and the buttons.
          '@media print': {
            'header, .MuiDrawer-root, .MuiSnackbar-root, main button, main a.MuiButton-root, main .MuiTextField-root': {
              display: 'none !important',
            },
            main: { margin: '0 !important', padding: '0 !important' },
          },
        },
      },
    },
  });
