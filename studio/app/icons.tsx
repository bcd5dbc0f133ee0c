/** The few icons of the studio, from Google's Material Icons (Apache 2.0). */
import { createSvgIcon } from '@mui/material/utils';

const icon = (path: string, name: string) => createSvgIcon(<path d={path} />, name);

export const MenuIcon = icon('M3 18h18v-2H3zm0-5h18v-2H3zm0-7v2h18V6z', 'Menu');
export const SettingsIcon = icon(
  'M3 17v2h6v-2zM3 5v2h10V5zm10 16v-2h8v-2h-8v-2h-2v6zM7 9v2H3v2h4v2h2V9zm14 4v-2H11v2zm-6-4h2V7h4V5h-4V3h-2z',
  'Settings',
);
export const AddIcon = icon('M19 13h-6v6h-2v-6H5v-2h6V5h2v6h6z', 'Add');
export const SearchIcon = icon(
  'M15.5 14h-.79l-.28-.27A6.47 6.47 0 0 0 16 9.5 6.5 6.5 0 1 0 9.5 16c1.61 0 3.09-.59 4.23-1.57l.27.28v.79l5 4.99L20.49 19zm-6 0C7.01 14 5 11.99 5 9.5S7.01 5 9.5 5 14 7.01 14 9.5 11.99 14 9.5 14',
  'Search',
);
export const ChartIcon = icon('M5 9.2h3V19H5zM10.6 5h2.8v14h-2.8zm5.6 8H19v6h-2.8z', 'Chart');
export const MoreIcon = icon(
  'M12 8a2 2 0 1 0 0-4 2 2 0 0 0 0 4m0 2a2 2 0 1 0 0 4 2 2 0 0 0 0-4m0 6a2 2 0 1 0 0 4 2 2 0 0 0 0-4',
  'More',
);
export const CopyIcon = icon('M16 1H2v16h2V3h12zm5 4H6v18h15zm-2 16H8V7h11z', 'Copy');
export const FilterIcon = icon('M10 18h4v-2h-4zM3 6v2h18V6zm3 7h12v-2H6z', 'Filter');
export const ColumnsIcon = icon('M14.67 5v14H9.33V5zm1 14H21V5h-5.33zm-7.34 0V5H3v14z', 'Columns');
export const NextIcon = icon('M10 6 8.59 7.41 13.17 12l-4.58 4.59L10 18l6-6z', 'Next');
export const PreviousIcon = icon('M15.41 7.41 14 6l-6 6 6 6 1.41-1.41L10.83 12z', 'Previous');
export const ExportIcon = icon('M5 20h14v-2H5zM19 9h-4V3H9v6H5l7 7z', 'Export');
export const ImportIcon = icon('M5 20h14v-2H5zm0-10h4v6h6v-6h4l-7-7z', 'Import');
export const FirstIcon = icon('M18.41 16.59 13.82 12l4.59-4.59L17 6l-6 6 6 6zM6 6h2v12H6z', 'First');
export const CloseIcon = icon(
  'M19 6.41 17.59 5 12 10.59 6.41 5 5 6.41 10.59 12 5 17.59 6.41 19 12 13.41 17.59 19 19 17.59 13.41 12z',
  'Close',
);
export const YesIcon = icon('M9 16.17 4.83 12l-1.42 1.41L9 19 21 7l-1.41-1.41z', 'Yes');
export const EditIcon = icon(
  'M3 17.25V21h3.75L17.81 9.94l-3.75-3.75zM20.71 7.04a.996.996 0 0 0 0-1.41l-2.34-2.34a.996.996 0 0 0-1.41 0l-1.83 1.83 3.75 3.75z',
  'Edit',
);
export const DeleteIcon = icon('M6 19c0 1.1.9 2 2 2h8c1.1 0 2-.9 2-2V7H6zM19 4h-3.5l-1-1h-5l-1 1H5v2h14z', 'Delete');
export const UpIcon = icon('M7.41 15.41 12 10.83l4.59 4.58L18 14l-6-6-6 6z', 'Up');
export const DownIcon = icon('M7.41 8.59 12 13.17l4.59-4.58L18 10l-6 6-6-6z', 'Down');
