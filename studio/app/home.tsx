/** The first page: every type with a list, and what it is. */
import Box from '@mui/material/Box';
import Card from '@mui/material/Card';
import CardActionArea from '@mui/material/CardActionArea';
import Typography from '@mui/material/Typography';
import { useMemo } from 'react';
import { Link } from 'react-router-dom';
import { Heading } from './heading.tsx';
import { listedTypes, useModel } from '../data/model.ts';
import { useText } from '../texts/texts.ts';

export function Home() {
  const say = useText();
  const model = useModel();
  const types = useMemo(() => listedTypes(model), [model]);
  return (
    <>
      <Heading text={say(types.length === 0 ? 'app.nothing' : 'app.home')} sx={{ mb: 3 }} />
      <Box
        component="ul"
        sx={{
          display: 'grid',
          gridTemplateColumns: 'repeat(auto-fill, minmax(min(100%, 17rem), 1fr))',
          gap: 2,
          p: 0,
          m: 0,
          listStyle: 'none',
        }}
      >
        {types.map(({ type, path, title, description }) => (
          <Card key={type} component="li" variant="outlined">
            <CardActionArea component={Link} to={`/${path}`} sx={{ p: 2, height: '100%', display: 'block' }}>
              <Typography variant="h2" sx={{ mb: 0.5 }}>
                {title.many}
              </Typography>
              <Typography variant="body2" sx={{ color: 'text.secondary' }}>
                {description}
              </Typography>
            </CardActionArea>
          </Card>
        ))}
      </Box>
    </>
  );
}
