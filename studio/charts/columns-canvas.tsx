/** Columns, drawn by Chart.js. It is loaded when the first of them is seen. */
import { useTheme } from '@mui/material/styles';
import { BarController, BarElement, CategoryScale, Chart, LinearScale, Tooltip } from 'chart.js';
import { useEffect, useRef } from 'react';
import { pageLanguage } from '../presentations/plain.ts';

Chart.register(BarController, BarElement, CategoryScale, LinearScale, Tooltip);

interface ColumnsProps {
  readonly names: readonly string[];
  readonly figures: readonly number[];
  /** The text of each column for screen readers. */
  readonly texts: readonly string[];
  readonly chosen: readonly boolean[];
  readonly focused: number | undefined;
  readonly onChoose: (index: number) => void;
}

export default function Columns({ names, figures, texts, chosen, focused, onChoose }: ColumnsProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const chart = useRef<Chart<'bar', number[], string>>(undefined);
  const choose = useRef(onChoose);
  choose.current = onChoose;
  const { palette, typography } = useTheme();
  const colours = chosen.map((isChosen) =>
    isChosen || !chosen.includes(true) ? palette.chart.column : palette.chart.strong,
  );
  const key = JSON.stringify([names, figures, colours, palette.mode]);
  useEffect(() => {
    if (canvas.current === null) return;
    const font = { family: typography.fontFamily ?? 'sans-serif', size: 11 };
    const made = new Chart(canvas.current, {
      type: 'bar',
      data: {
        labels: [...names],
        datasets: [{ data: [...figures], backgroundColor: colours, borderRadius: 3, maxBarThickness: 36 }],
      },
      options: {
        animation: false,
        maintainAspectRatio: false,
        locale: pageLanguage(),
        onClick: (_event, [element]) => {
          if (element !== undefined) choose.current(element.index);
        },
        interaction: { mode: 'index', intersect: false },
        plugins: { tooltip: { displayColors: false, callbacks: { label: ({ dataIndex }) => texts[dataIndex] ?? '' } } },
        scales: {
          x: {
            grid: { display: false },
            ticks: { color: palette.text.secondary, font, maxRotation: 0, autoSkipPadding: 8 },
          },
          y: {
            beginAtZero: true,
            border: { display: false },
            grid: { color: palette.divider },
            ticks: {
              color: palette.text.secondary,
              font,
              maxTicksLimit: 4,
              precision: 0,
              format: { notation: 'compact' },
            },
          },
        },
      },
    });
    chart.current = made;
    return () => made.destroy();
    // `key` stands for all of these.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [key]);
  useEffect(() => {
    // Another filter may have left fewer columns.
    const active = focused === undefined || focused >= figures.length ? [] : [{ datasetIndex: 0, index: focused }];
    chart.current?.setActiveElements(active);
    chart.current?.tooltip?.setActiveElements(active, { x: 0, y: 0 });
    chart.current?.update();
    // oxlint-disable-next-line react/exhaustive-deps
  }, [focused, key]);
  return <canvas ref={canvas} aria-hidden style={{ cursor: 'pointer' }} />;
}
